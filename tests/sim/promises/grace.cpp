// Promise: a process that dlaunch ends gets a signal first, and the grace period to act on it.
#include <algorithm>
#include <csignal>

#include "base/end_signals.h"
#include "job/job.h"
#include "promises/promises.h"

namespace sim {

void Grace::ended(const Process& process) {
  const bool killed = process.end == Process::End::by_signal_of_agent && process.wait_status == SIGKILL;
  if (!killed || process.kind == Process::Kind::preparer || !process.runs_job()) return;
  std::optional<Ns> asked = process.asked;
  // The grace period of the ranks also counts for the processes that they left.
  for (const auto& [pid, rank] : world_.processes().all()) {
    const bool counts = process.kind != Process::Kind::rank && rank.kind == Process::Kind::rank && rank.asked;
    if (counts && rank.round == process.round) asked = std::min(asked.value_or(*rank.asked), *rank.asked);
  }
  const auto sent = asked_.find(process.round);
  if (process.kind != Process::Kind::rank && sent != asked_.end())
    asked = std::min(asked.value_or(sent->second), sent->second);
  killed_.push_back({process.host, process.kind == Process::Kind::daemon, asked, world_.now()});
}

void Grace::sent(int, const dlaunch::wire::Message& message) {
  const auto* signal = std::get_if<dlaunch::wire::Signal>(&message);
  if (signal && dlaunch::is_end_signal(static_cast<int>(signal->signal)))
    asked_.try_emplace(world_.round(), world_.now());
}

void Grace::launcher_signalled(int signal) {
  const bool notice = world_.scenario().preempt && signal == SIGTERM;  // of a preemption
  if (dlaunch::is_end_signal(signal) && !notice) signals_.push_back(world_.now());
  if (signal == SIGUSR1 || signal == SIGTERM) notices_.emplace_back(signal, world_.now());
}

void Grace::fault(const Fault& fault, bool ends) {
  if (ends || fault.kind != "termg") return;
  for (const auto& [pid, process] : world_.processes().all()) {
    const bool runs = process.alive && process.kind == Process::Kind::rank && process.host == fault.host;
    if (runs) told_agents_.try_emplace(pid, fault.host, world_.now());
  }
}

/// An agent that gets TERM ends its ranks, also if the launcher does not answer.
void Grace::signal_to_host(const Facts& facts) {
  constexpr Ns kAnswer = 3 * kSecond;
  if (facts.history.launcher_was_stopped() || world_.scenario().preempt || world_.scenario().grace == 0) return;
  for (const auto& [pid, told] : told_agents_) {
    const auto [host, time] = told;
    const bool works = std::ranges::all_of(world_.scenario().faults, [host = host](const Fault& each) {
      return each.host != host || each.kind == "silent" || each.kind == "deaf" || each.kind == "half" ||
             each.kind == "cut" || each.kind == "termg";
    });
    const Process& process = world_.processes().all().at(pid);
    const bool ended = !process.alive && process.ended <= time + kAnswer;
    if (works && !facts.history.managed_by("mgr") && !ended &&
        process.asked.value_or(time + kAnswer + 1) > time + kAnswer)
      broke("grace: a rank gets no signal after TERM to its agent");
  }
}

/// A TERM after another notice of a preemption leaves the grace period.
void Grace::later_notice(const Facts& facts) {
  if (facts.history.launcher_was_stopped() || !world_.scenario().preempt || notices_.size() < 2) return;
  const auto [signal, time] = notices_[1];
  if (signal != SIGTERM || notices_[0].first == SIGTERM) return;
  const Ns latest = time + world_.scenario().grace + 200 * kMs;
  for (const auto& [pid, process] : world_.processes().all()) {
    const bool ran =
        process.kind == Process::Kind::rank && process.began < time && (process.alive || process.ended > latest);
    if (!ran || process.round != world_.round() || facts.history.impaired().contains(process.host)) continue;
    if (process.asked.value_or(latest + 1) > latest) broke("grace: a rank gets no signal after a later notice");
  }
}

/// After the notice of a preemption, dlaunch ends no rank before the deadline.
void Grace::before_deadline(const Facts& facts) {
  const Scenario& s = world_.scenario();
  const auto& history = facts.history;
  if (!s.preempt || notices_.empty() || history.launcher_was_stopped() || !history.impaired().empty() ||
      history.managed() || !told_agents_.empty())
    return;
  const Ns notice = notices_.front().second;
  const auto ending = asked_.find(world_.round());
  if (ending != asked_.end() && ending->second <= notice) return;  // the job was ending
  for (const auto& failure : history.failures()) {
    if (failure.round == world_.round() && failure.time <= notice) return;  // the same; dlaunch printed stacks
  }
  Ns deadline = notice + std::chrono::nanoseconds(dlaunch::job::Checkpoint{}.usual_grace).count();
  if (notices_.size() > 1) deadline = std::min(deadline, notices_[1].second);
  if (!signals_.empty()) deadline = std::min(deadline, signals_.front());
  if (s.timeout > 0) deadline = std::min(deadline, s.timeout);
  for (const auto& [pid, process] : world_.processes().all()) {
    const bool ran = process.kind == Process::Kind::rank && process.round == world_.round() && process.began < notice;
    if (ran && process.asked && *process.asked > notice && *process.asked < deadline - 100 * kMs)
      broke("grace: a rank is ended before the deadline of a preemption");
  }
}

/// Ranks that still run for a time after the first end of a rank get a signal.
void Grace::after_first(const Facts& facts) {
  const Ns wait = world_.scenario().after_first;
  if (wait == 0 || facts.history.launcher_was_stopped() || world_.scenario().preempt || world_.scenario().grace == 0 ||
      !facts.history.impaired().empty())
    return;
  std::map<int, Ns> first;  // by round
  for (const auto& [pid, process] : world_.processes().all()) {
    if (process.kind != Process::Kind::rank || process.alive) continue;
    const auto found = first.try_emplace(process.round, process.ended).first;
    found->second = std::min(found->second, process.ended);
  }
  for (const auto& [pid, process] : world_.processes().all()) {
    const auto found = first.find(process.round);
    if (process.kind != Process::Kind::rank || process.stopped || found == first.end()) continue;
    const Ns latest = found->second + wait + kSecond;
    const bool ran = process.alive || process.ended > latest;
    if (ran && process.asked.value_or(latest + 1) > latest) broke("grace: a rank runs long after the first one ended");
  }
}

/// The second signal ends the grace period.
void Grace::second_signal(const Facts& facts) {
  constexpr Ns kApart = 10 * kMs;  // equal signals that are pending merge
  if (facts.history.launcher_was_stopped() || signals_.size() < 2 || signals_[1] < signals_[0] + kApart) return;
  for (const auto& [pid, process] : world_.processes().all()) {
    if (process.kind != Process::Kind::rank || process.began > signals_[1]) continue;
    if (facts.history.impaired().contains(process.host) || world_.scenario().stuck.contains(process.rank)) continue;
    if (process.alive || process.ended > signals_[1] + kSecond)
      broke("grace: a rank outlives the user's second signal");
  }
}

/// The time limit counts from the start of the job, not of a round.
void Grace::time_limit(const Facts& facts) {
  const Ns limit = world_.scenario().timeout;
  if (limit == 0 || facts.history.launcher_was_stopped() || world_.scenario().preempt || world_.scenario().grace == 0)
    return;
  const Ns latest = limit + std::chrono::nanoseconds(dlaunch::job::kStacksWait).count() + kSecond;
  for (const auto& [pid, process] : world_.processes().all()) {
    if (process.kind != Process::Kind::rank || facts.history.impaired().contains(process.host)) continue;
    const bool ran = process.alive || process.ended > latest;
    if (ran && process.asked.value_or(latest + 1) > latest) broke("grace: a rank gets no signal at the time limit");
  }
}

/// KILL to the ranks also ends the grace period of the processes that they left. dlaunch first
/// receives their output.
void Grace::second_grace(const Facts& facts) {
  const auto& faults = world_.scenario().faults;
  const bool simple =
      faults.size() == 1 && kind_of(faults[0]).of == FaultKind::Of::rank && !facts.history.launcher_was_stopped();
  if (!simple || !world_.scenario().stuck.empty() || !facts.history.impaired().empty()) return;
  const Ns output = world_.scenario().writes ? 2 * kSecond : 0;
  std::optional<Ns> over;
  for (const auto& [pid, process] : world_.processes().all()) {
    const bool killed = process.wait_status == SIGKILL && process.end == Process::End::by_signal_of_agent;
    if (process.kind == Process::Kind::rank && process.round == world_.round() && killed)
      over = std::max(over.value_or(0), process.ended);
  }
  for (const auto& [pid, process] : world_.processes().all()) {
    const bool left = process.kind == Process::Kind::daemon && process.round == world_.round() && over;
    if (left && process.began <= *over && process.ended > *over + output + kSecond)
      broke("grace: a daemon gets a second one");
  }
}

void Grace::settled(const Facts& facts) {
  second_grace(facts);
  signal_to_host(facts);
  later_notice(facts);
  before_deadline(facts);
  after_first(facts);
  time_limit(facts);
  second_signal(facts);
  const Scenario& s = world_.scenario();
  // A second signal of the user, or one after the ranks' end, and a batch system leave less time.
  const bool hurried = facts.history.user_signalled() && (s.faults.size() > 1 || s.timeout > 0 || !s.daemons.empty());
  if (hurried || facts.history.managed() || facts.history.outlasted_lease()) return;
  constexpr Ns kError = 100 * kMs;
  for (const Killed& each : killed_) {
    // The agent may have been stopped, or its lease may have ended.
    if (facts.history.impaired().contains(each.host)) continue;
    if (!each.asked && s.grace == 0) continue;  // KILL is the first signal
    // KILL to ranks of a silent host, which may have ended, is KILL to all hosts.
    if (!each.asked && each.left && !facts.history.impaired().empty()) continue;
    if (each.left && facts.history.met("flap")) continue;  // the same, and TERM came as late as KILL
    if (!each.asked) {
      broke("grace: a process gets KILL, but no signal before");
    } else if (each.time < *each.asked + s.grace - kError) {
      broke("grace: a process gets KILL before its grace period is over");
    }
  }
}

}  // namespace sim
