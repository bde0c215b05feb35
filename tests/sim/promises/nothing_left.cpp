// Promise: all processes of the job end on each host that can be reached; dlaunch names the other hosts.
#include <algorithm>

#include "promises/promises.h"

namespace sim {
namespace {

/// Whether dlaunch printed that processes of the job may be left on the host.
bool is_doubted(const Facts& facts, const std::string& host) {
  if (facts.outcome) {
    for (const std::string& left : facts.outcome->leftovers) {
      if (left.starts_with(host + ':')) return true;
    }
  }
  const bool folded = facts.history.was_printed("may still run on n[");
  return folded || facts.history.has_line("may still run on", host) ||
         facts.history.has_line("processes may be left", host);
}

/// Whether an agent of the host is stopped for good: dlaunch may have connected again by this agent.
bool has_stopped_agent(const Facts& facts, int host) {
  return std::ranges::any_of(facts.world.processes().all(), [&](const auto& each) {
    const Process& process = each.second;
    return process.host == host && process.alive && process.stopped && !process.runs_job();
  });
}

/// The agent of the process was killed or cut off, and nothing else disturbs its host.
bool can_be_swept(const Facts& facts, const Process& process) {
  const Scenario& s = facts.world.scenario();
  const auto of_host = [&](const Fault& fault) { return fault.host == process.host; };
  const bool calm = !facts.history.managed() && !facts.history.user_signalled() && s.stuck.empty() &&
                    facts.history.count(FaultKind::Of::launcher) == 0 && !facts.history.met("pauseexit") &&
                    std::ranges::count_if(s.faults, of_host) == 1;
  const auto fault = std::ranges::find_if(s.faults, of_host);
  if (!calm || facts.history.faults_at(process.host) == 0) return false;
  return fault->kind == "killw" || fault->kind == "killg" || fault->kind == "killboth" || fault->kind == "cut";
}

/// An older agent lives on a host that a sweep has confirmed: it may start ranks later.
bool is_agent_after_sweep(const Facts& facts, const Process& process) {
  if (!process.alive || process.runs_job()) return false;
  const std::string& host = facts.world.host(process.host).name;
  const bool swept =
      std::ranges::any_of(facts.outcome->swept, [&](int number) { return facts.plan.host(number).host.name == host; });
  const auto& agents = facts.world.network().agents();
  const auto newest = std::ranges::find_if(agents.rbegin(), agents.rend(),
                                           [&](const auto& agent) { return agent->host == process.host; });
  return swept && newest != agents.rend() && (*newest)->worker != process.pid && (*newest)->guardian != process.pid;
}

}  // namespace

void NothingLeft::job_ended(const Facts& facts) {
  for (int number = 0; number < facts.world.host_count(); ++number) {
    const Host& host = facts.world.host(number);
    if (host.refuses != 0 || host.in_blocked || host.out_blocked || host.frozen) unreachable_.insert(number);
  }
  if (!facts.outcome) return;
  for (const auto& [pid, process] : facts.world.processes().all()) {
    if (is_agent_after_sweep(facts, process)) broke("left: an older agent outlives a sweep");
    if (!process.alive || !process.runs_job()) continue;
    const std::string& host = facts.world.host(process.host).name;
    const bool impaired = facts.history.impaired().contains(process.host);
    const bool given_up = process.kind == Process::Kind::rank && process.got_kill && !impaired &&
                          !facts.history.user_signalled() && !facts.history.managed() &&
                          !facts.history.outlasted_lease();
    if (given_up && !facts.history.has_line("did not end after SIGKILL", ", pid " + std::to_string(pid) + ","))
      broke("left: a rank that KILL does not end is not named");
    if (can_be_swept(facts, process)) broke("left: a process on a host that can be swept");
    if (is_doubted(facts, host)) continue;
    broke(std::string("left: a process on ") + (impaired ? "an impaired" : "a sound") + " host, without a warning");
  }
}

/// The agents end with the job. A stopped worker without a guardian stays on a host that cannot be swept, or that had
/// no ranks.
void NothingLeft::agents_left(const Facts& facts) {
  constexpr Ns kClose = 5 * kSecond;
  const bool calm = !facts.history.managed() && facts.outcome && facts.history.count(FaultKind::Of::launcher) == 0 &&
                    facts.world.scenario().stuck.empty();
  for (const auto& [pid, process] : facts.world.processes().all()) {
    const Host& host = facts.world.host(process.host);
    if (process.runs_job() || host.frozen) continue;
    const bool excused = is_doubted(facts, host.name) || facts.history.faults_at(process.host) > 1;
    if (process.alive && !(process.stopped && excused)) broke("left for good: an agent");
    const bool sound = calm && !facts.history.impaired().contains(process.host) && !is_doubted(facts, host.name);
    if (sound && !process.alive && process.ended > facts.ended + kClose) broke("left: an agent outlives the job");
  }
}

void NothingLeft::settled(const Facts& facts) {
  agents_left(facts);
  for (const auto& [pid, process] : facts.world.processes().all()) {
    if (!process.alive || !process.runs_job()) continue;
    const Host& host = facts.world.host(process.host);
    if (host.frozen || facts.world.scenario().stuck.contains(process.rank)) continue;
    // If no agent runs on the host and no login is possible, dlaunch cannot end a daemon.
    const bool no_agent = facts.history.met("killboth") || (facts.history.met("killg") && facts.history.met("killw")) ||
                          (facts.history.met("killg") && facts.history.met("stopw")) || facts.history.managed();
    if (has_stopped_agent(facts, process.host) && is_doubted(facts, host.name)) continue;
    const bool unreachable = unreachable_.contains(process.host) || facts.history.count(FaultKind::Of::login) > 0;
    if (no_agent && unreachable && is_doubted(facts, host.name)) continue;
    // The agent was lost, and the sweep failed, too: its agent was lost, or the host was silent during the sweep.
    const auto& agents = facts.world.network().agents();
    const auto started = std::ranges::count_if(
        agents, [&](const auto& agent) { return agent->host == process.host && agent->worker != 0; });
    if (facts.history.faults_at(process.host) > 0 && (started > 1 || no_agent) && is_doubted(facts, host.name))
      continue;
    broke(std::string("left for good: a ") + (process.kind == Process::Kind::daemon ? "daemon" : "rank") +
          " runs long after the job" + (is_doubted(facts, host.name) ? ", with a warning" : ", without a warning"));
  }
}

}  // namespace sim
