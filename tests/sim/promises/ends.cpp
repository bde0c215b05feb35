// Promise: after a single fault while ranks run, the job ends, or its next round starts, within the bound of the table
// in docs/how-it-works.md. With any faults, the job ends within bound_of_end() after the cause of its end. (The whole
// job ends within bound(); run_case.cpp reports a hang otherwise.)
#include <algorithm>

#include "base/time.h"
#include "bound.h"
#include "job/job.h"
#include "launcher/sweeps.h"
#include "link/heartbeat.h"
#include "promises/promises.h"

namespace sim {

void Ends::fault(const Fault& fault, bool ends) {
  if (!ends) at_ = world_.now();
  const auto runs = [&](const auto& each) {
    return each.second.kind == Process::Kind::rank && each.second.host == fault.host && each.second.alive;
  };
  if (!ends) last_in_finishing_ = finishing_ || std::ranges::none_of(world_.processes().all(), runs);
}

void Ends::began(const Process& process) {
  if (process.kind != Process::Kind::rank) return;
  if (process.round == 0) running_ = running_.value_or(world_.now());
  if (process.round > 0 && !next_) next_ = world_.now();
}

/// After the loss of a host, the others have a time to answer; then hosts that had processes are swept.
void Ends::never_started(const Facts& facts) {
  const bool lost = facts.outcome && facts.outcome->cause_at && facts.outcome->cause == dlaunch::job::Cause::host_lost;
  const auto launcher = FaultKind::Of::launcher;
  const auto stops = [&](const Fault& fault) {
    return kind_of(fault).of == launcher || fault.kind.starts_with("pause");
  };
  const bool started = running_ || (lost && facts.outcome->started_at);
  if (!lost || started || world_.scenario().staged || std::ranges::any_of(world_.scenario().faults, stops)) return;
  const Ns took = std::chrono::nanoseconds(dlaunch::Clock::now() - *facts.outcome->cause_at).count();
  // An impaired host with an agent may not confirm its end.
  const auto& agents = world_.network().agents();
  const bool confirms = std::ranges::none_of(
      agents, [&](const auto& agent) { return agent->worker != 0 && facts.history.faults_at(agent->host) > 0; });
  const auto ns = [](auto duration) { return std::chrono::nanoseconds(duration).count(); };
  const Ns clean = confirms ? 0 : ns(dlaunch::job::kFinishWait) + world_.scenario().grace;
  const Ns most = ns(dlaunch::job::kOthersWait) + clean + 2 * kSecond;
  if (took > most) broke("the job did not end within the bound after a login failed");
}

/// While ranks are stopped, a host that falls silent is lost 5 s after KILL or its last frame.
void Ends::silent_at_last(const Facts& facts) {
  const Scenario& s = world_.scenario();
  if (!facts.outcome || !facts.outcome->cause_at || !running_ || s.restarts > 0 || !s.stuck.empty() || s.preempt)
    return;
  const auto& history = facts.history;
  if (history.impaired().size() != 1 || s.faults.empty() || history.count(FaultKind::Of::launcher) > 0) return;
  const Fault& last = s.faults.back();
  const bool silent = last.kind == "silent" && last.length == 0 && at_ && history.met("silent");
  const bool known = std::ranges::all_of(s.faults, [](const Fault& each) {
    return each.kind == "exit7" || each.kind == "segv" || each.kind == "int" || each.kind == "term" ||
           (each.length == 0 && (each.kind == "deaf" || each.kind == "mute" || each.kind == "silent"));
  });
  // Else the job waits for the end of the output that the silent host sends.
  const bool simple = s.timeout == 0 && s.daemons.empty() && s.spawn == 0;
  if (!silent || !known || !simple || last_in_finishing_) return;
  const auto ns = [](auto duration) { return std::chrono::nanoseconds(duration).count(); };
  const Ns cause = world_.now() - ns(dlaunch::Clock::now() - *facts.outcome->cause_at);
  const Ns stopped = std::max(cause + ns(dlaunch::job::kStacksWait) + s.grace, *at_);
  const Ns most =
      ns(dlaunch::job::kKillWait) + std::max(ns(dlaunch::launcher::Sweeps::kReach), s.grace) + s.grace + 2 * kSecond;
  if (facts.ended > stopped + most) broke("the job did not end within the bound after a host fell silent");
}

void Ends::job_ended(const Facts& facts) {
  if (facts.outcome && facts.outcome->cause_at && facts.outcome->cause != dlaunch::job::Cause::success) {
    const Ns took = std::chrono::nanoseconds(dlaunch::Clock::now() - *facts.outcome->cause_at).count();
    if (took > bound_of_end(world_.scenario(), facts.options))
      broke("the job did not end within the bound after its cause");
  }
  never_started(facts);
  silent_at_last(facts);
  const auto& faults = world_.scenario().faults;
  if (faults.size() != 1 || !at_ || !running_ || *at_ < *running_ + kSecond || !facts.outcome) return;
  if (!facts.world.scenario().stuck.empty() || facts.world.scenario().preempt) return;
  const auto cause = facts.outcome->cause;
  const bool told = std::ranges::all_of(world_.processes().all(), [&](const auto& each) {  // ranks may exit with 0
    return each.second.kind != Process::Kind::rank || each.second.asked || each.second.ended <= *at_;
  });
  const bool other = (cause == dlaunch::job::Cause::success && !told) || cause == dlaunch::job::Cause::timeout;
  const bool by_signal = faults[0].kind == "int" || faults[0].kind == "term" || faults[0].kind == "hup" ||
                         (faults[0].kind == "termg" && faults[0].host < world_.scenario().hosts);
  const bool in_time = *at_ + kSecond < facts.ended && !(faults[0].kind == "termg" && last_in_finishing_) &&
                       facts.world.scenario().timeout == 0;
  if (by_signal && other && in_time) broke("the signal does not end the job");
  if (other && !next_) return;  // the fault did not end the job
  const auto most = bound_while_running(faults[0].kind, facts.options);
  if (!most) return;
  const Ns took = next_.value_or(facts.ended) - *at_;
  // While the ranks are stopped, the launcher tries for a time to connect again.
  if (faults[0].kind == "silent" && faults[0].length == 0 && !next_) {
    const auto ns = [](auto duration) { return std::chrono::nanoseconds(duration).count(); };
    const Ns silence = ns(facts.options.heartbeat) * dlaunch::link::Heartbeat::kMisses;
    // Processes that ranks left get a second grace period if the ranks needed no KILL.
    const Ns left = world_.scenario().daemons.empty() ? 0 : world_.scenario().grace;
    const Ns stop = world_.scenario().grace + ns(dlaunch::job::kKillWait) + left;
    if (took > silence + std::max(stop, ns(dlaunch::launcher::Sweeps::kReach)) + 2 * kSecond)
      broke("the job did not end within the bound after a host was lost for good");
  }
  // The lengths of the fault itself, and the lease of a host that may be replaced, come on top.
  const Ns lease = next_ ? std::chrono::nanoseconds(facts.options.heartbeat).count() * 4 + world_.scenario().grace : 0;
  constexpr Ns kWork = 2 * kSecond;  // logins, packets, processes that take their time
  if (took > *most + faults[0].length + lease + kWork) {
    broke("the job did not end within the bound after " + faults[0].kind);
  }
}

}  // namespace sim
