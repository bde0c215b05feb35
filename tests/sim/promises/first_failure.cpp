// Promise: dlaunch names the true cause of the job's end, the rank that failed first, and exits with its code.
#include <algorithm>
#include <set>

#include "promises/promises.h"

namespace sim {

namespace job = dlaunch::job;

/// The failures of a round, in the order of the true time.
static std::vector<History::Failure> failures_of(const Facts& facts, int round) {
  std::vector<History::Failure> found;
  for (const auto& failure : facts.history.failures()) {
    if (failure.round == round) found.push_back(failure);
  }
  return found;
}

/// MPI_Comm_spawn succeeded, but not all of its ranks began.
static bool lacks_spawned_ranks(const Facts& facts) {
  bool wanted = false;
  std::set<int> began;
  for (const auto& [pid, process] : facts.world.processes().all()) {
    if (process.kind != Process::Kind::rank || process.round != facts.world.round()) continue;
    wanted = wanted || process.spawned;
    if (process.rank >= facts.world.ranks_at_start()) began.insert(process.rank);
  }
  return wanted && static_cast<int>(began.size()) != facts.world.scenario().spawn;
}

static int host_of(const Facts& facts, int rank) {
  for (const auto& [pid, process] : facts.world.processes().all()) {
    if (process.rank == rank && process.round == facts.world.round()) return process.host;
  }
  return facts.plan.rank(rank).host;
}

void FirstFailure::heard(int, const dlaunch::wire::Message& message) {
  const auto* ended = std::get_if<dlaunch::wire::Ended>(&message);
  if (ended) told_.try_emplace({world_.round(), static_cast<int>(ended->rank)}, static_cast<int>(told_.size()));
  const auto* aborted = std::get_if<dlaunch::wire::MpiAbort>(&message);
  if (aborted) told_.try_emplace({world_.round(), static_cast<int>(aborted->rank)}, static_cast<int>(told_.size()));
}

void FirstFailure::fault(const Fault& fault, bool ends) {
  const auto of = kind_of(fault).of;
  if (of == FaultKind::Of::clock) jumps_.emplace_back(fault.host, world_.now());
  if (of != FaultKind::Of::host || ends) return;
  const Ns end = fault.length > 0 ? world_.now() + fault.length : std::numeric_limits<Ns>::max();
  harms_[fault.host].push_back({fault.kind, world_.now(), end});
}

/// Whether the launcher may not have read the clock of the host since it was set.
bool FirstFailure::clock_jumped(int host, Ns time) const {
  constexpr Ns kRead = 11 * kSecond;  // two heartbeats, and the way
  return std::ranges::any_of(jumps_, [&](const auto& jump) {
    return jump.first == host && jump.second <= time && time < jump.second + kRead;
  });
}

/// The earliest time at which the agent of the host can reap a rank that ended at `time`: a stopped worker does so
/// later.
Ns FirstFailure::reaped(int host, Ns time) const {
  const auto found = harms_.find(host);
  if (found == harms_.end()) return time;
  for (const Harm& harm : found->second) {
    if (harm.kind == "stopw" && harm.begin <= time && time < harm.end) return harm.end;
  }
  return time;
}

/// Whether the faults of the host suffice for its loss while ranks run. Silences of 9 s, with time for heartbeats
/// between, do not.
bool FirstFailure::may_be_lost(const Facts& facts, int host) const {
  constexpr Ns kShort = 9 * kSecond;
  constexpr Ns kBetween = 6 * kSecond;
  const auto found = harms_.find(host);
  if (found == harms_.end()) return false;
  Ns before = -kBetween;
  for (const Harm& harm : found->second) {
    const bool flaps = harm.kind == "flap" && found->second.size() == 1;
    const bool ends = harm.kind == "silent" || harm.kind == "mute" || harm.kind == "deaf" || harm.kind == "half" ||
                      harm.kind == "freeze" || harm.kind == "stopw";
    const bool is_short = ends && harm.end - harm.begin <= kShort && harm.begin >= before + kBetween;
    if (!flaps && !is_short) return true;
    before = harm.end;
  }
  const bool running = facts.outcome->cause_at && !facts.history.user_signalled();
  return facts.history.launcher_was_stopped() || !running || facts.world.scenario().staged;
}

/// Whether the user's signal ended ranks that then exited with 0, and all of their output was read.
static bool all_succeeded(const job::Outcome& outcome) {
  const bool complete = outcome.lost_hosts.empty() && !outcome.unread && !outcome.unended && outcome.detail.empty();
  return complete && std::ranges::all_of(outcome.ranks,
                                         [](const job::RankRecord& rank) { return rank.status && rank.status->ok(); });
}

void FirstFailure::job_ended(const Facts& facts) {
  // Without --shrink, no error prevents the next round: dlaunch refuses a restart that lacks hosts.
  if (!facts.outcome && !world_.scenario().shrink) broke("no cause: the job ends with an error");
  if (!facts.outcome) return;
  const job::Outcome& outcome = *facts.outcome;
  switch (outcome.cause) {
    case job::Cause::success:
      if (outcome.exit_code != 0) broke("exit code " + std::to_string(outcome.exit_code) + " after success");
      if (!failures_of(facts, facts.world.round()).empty()) broke("success, although a rank failed");
      for (const auto& each : facts.history.not_forked()) {
        if (each.round == facts.world.round()) broke("success, although a rank did not start");
      }
      if (lacks_spawned_ranks(facts)) broke("success, although a spawned rank did not start");
      return;
    case job::Cause::rank_failed:
      return rank_failed(facts);
    case job::Cause::interrupted:
      if (outcome.exit_code != 128 + outcome.signal) broke("the exit code is not 128 + the signal");
      if (!facts.history.user_signalled() && !facts.history.managed()) broke("\"interrupted\" without a signal");
      // A second signal ends the wait for the output, so dlaunch does not know that the output is complete.
      if (all_succeeded(outcome) && !facts.history.user_signalled_again())
        broke("interrupted, although all ranks handled the signal and exited with 0");
      return;
    case job::Cause::timeout:
      if (facts.world.scenario().timeout == 0 && facts.world.scenario().after_first == 0)
        broke("a timeout without --timeout");
      return;
    case job::Cause::host_lost:
      return host_lost(facts);
    case job::Cause::preempted:
      if (!facts.world.scenario().preempt) broke("preempted without --checkpoint-signal");
      return;
    case job::Cause::output_failed:
      if (facts.history.count(FaultKind::Of::reader) == 0) broke("\"output failed\", although the reader reads");
      return;
    default:
      broke("unexpected cause " + std::to_string(static_cast<int>(outcome.cause)));
  }
}

void FirstFailure::rank_failed(const Facts& facts) {
  const job::Outcome& outcome = *facts.outcome;
  if (!outcome.first_failure) return broke("no first failure");
  const auto failures = failures_of(facts, facts.world.round());
  const int rank = *outcome.first_failure;
  const auto named = std::ranges::find(failures, rank, &History::Failure::rank);
  const job::RankRecord& record = outcome.ranks.at(static_cast<size_t>(rank));
  const auto is_not_forked = [&](const History::Failure& each) {
    return each.rank == rank && each.round == facts.world.round();
  };
  if (std::ranges::any_of(facts.history.not_forked(), is_not_forked)) return;
  if (named == failures.end()) {
    // A rank that only the signal of a batch system ended did not fail.
    const auto began = [&] {
      for (const auto& [pid, process] : facts.world.processes().all()) {
        if (process.rank == rank && process.round == facts.world.round()) return process.began;
      }
      return Ns{0};
    };
    const auto managed = facts.history.first(FaultKind::Of::manager);  // its agent got the signal, too
    const auto of_manager = [](const Fault& each) { return kind_of(each).of == FaultKind::Of::manager; };
    const bool only_managed =
        managed && *managed > began() && std::ranges::all_of(world_.scenario().faults, of_manager);
    // The job may be over before all agents have received the batch system's signal, which takes a time for each
    // process.
    const bool over_at_once = only_managed && (world_.scenario().grace == 0 || world_.now() < *managed + kMs);
    const bool ended_by_manager = facts.history.managed() && (!only_managed || over_at_once);
    // A worker or guardian that is killed takes the ranks of its host along.
    const bool ended_by_host = facts.history.impaired().contains(host_of(facts, rank));
    const bool left_mpi = record.status && std::holds_alternative<dlaunch::LeftMpi>(record.status->value());
    const bool notified = only_managed && facts.history.managed() && facts.world.scenario().preempt;
    if (notified) return broke("a rank that a batch system ended after its notice is called the first failure");
    if (!ended_by_manager && !ended_by_host && !left_mpi) {
      broke("a rank that did not fail by itself is called the first failure: " +
            (record.status ? record.status->describe() : std::string("no status")));
    }
    return;
  }
  const auto& first = failures.front();
  silent_before(facts, first);
  Ns error = facts.world.scenario().clock_error();
  const bool jumped = clock_jumped(first.host, first.time) || clock_jumped(named->host, named->time);
  if (jumped) error = std::numeric_limits<Ns>::max() / 2;
  const auto& status = outcome.ranks.at(static_cast<size_t>(first.rank)).status;
  const bool seen = status && !std::holds_alternative<dlaunch::Lost>(status->value());
  const Ns reaped_at = reaped(first.host, first.time);
  const bool later = reaped_at < std::numeric_limits<Ns>::max() && named->time > reaped_at + error;
  if (first.rank != rank && seen && later) broke("a rank that failed later is called the first failure");
  // A failure that was first, and that the launcher heard of first, needs no clock.
  const auto told = [&](int of) { return told_.find({facts.world.round(), of}); };
  const bool heard = !facts.history.launcher_was_stopped() && !jumped && told(first.rank) != told_.end() &&
                     told(rank) != told_.end() && told(first.rank)->second < told(rank)->second;
  if (first.rank != rank && heard && named->time > first.time)
    broke("a rank that failed later, and was heard of later, is called the first failure");
  const std::optional<dlaunch::ExitStatus> end =
      record.abort_code ? dlaunch::ExitStatus(dlaunch::Aborted{*record.abort_code}) : record.status;
  if (end && outcome.exit_code != end->shell_code() && outcome.exit_code != 93) {
    broke("the exit code is not the code of the first failure");
  }
}

/// Ranks fail because another host fell silent: then the loss of that host is the cause.
void FirstFailure::silent_before(const Facts& facts, const History::Failure& first) {
  if (facts.history.launcher_was_stopped()) return;
  for (const Fault& fault : world_.scenario().faults) {
    const bool stays = (fault.kind == "silent" || fault.kind == "freeze") && fault.length == 0;
    const auto since = facts.history.impaired().find(fault.host);
    if (!stays || !facts.history.met(fault.kind)) continue;
    if (since == facts.history.impaired().end() || since->second + kSecond > first.time) continue;
    for (const auto& rank : facts.plan.ranks) {
      const auto& status = facts.outcome->ranks.at(static_cast<size_t>(rank.rank)).status;
      const bool there = facts.plan.host(rank.host).host.name == world_.host(fault.host).name;
      if (there && facts.history.faults_at(fault.host) == 1 && status &&
          std::holds_alternative<dlaunch::Lost>(status->value()))
        broke("a rank that failed later is called the first failure: a host was silent before");
    }
  }
}

void FirstFailure::host_lost(const Facts& facts) {
  const auto failures = failures_of(facts, facts.world.round());
  const auto since = [&](const job::LostHost& lost) {
    Ns first = std::numeric_limits<Ns>::max();
    for (const auto& [host, time] : facts.history.impaired()) {
      if (facts.world.host(host).name == lost.name) first = time;
    }
    return first;
  };
  const bool not_forked = std::ranges::any_of(facts.history.not_forked(),
                                              [&](const auto& each) { return each.round == facts.world.round(); });
  const bool left_mpi = std::ranges::any_of(facts.outcome->ranks, [](const auto& rank) {
    return rank.status && std::holds_alternative<dlaunch::LeftMpi>(rank.status->value());
  });
  const bool failed = !failures.empty() || not_forked || left_mpi;
  const auto& lost_hosts = facts.outcome->lost_hosts;
  const bool later =
      !failures.empty() && !lost_hosts.empty() && !facts.history.managed() &&
      !facts.history.impaired().contains(failures.front().host) &&
      std::ranges::all_of(lost_hosts, [&](const auto& lost) { return since(lost) > failures.front().time + kSecond; });
  if (later && !facts.history.launcher_was_stopped() && facts.history.count(FaultKind::Of::login) == 0)
    broke("a lost host is called the cause, although a rank failed before");
  // While the job ends because of a rank or another host, 5 s of silence suffice.
  const bool other = std::ranges::any_of(lost_hosts, [&](const auto& lost) {
    for (int host = 0; host < facts.world.host_count(); ++host) {
      if (facts.world.host(host).name == lost.name && may_be_lost(facts, host)) return true;
    }
    return false;
  });
  for (const job::LostHost& lost : facts.outcome->lost_hosts) {
    for (int host = 0; host < facts.world.host_count(); ++host) {
      if (facts.world.host(host).name != lost.name || may_be_lost(facts, host)) continue;
      if ((other || failed) && facts.history.impaired().contains(host)) continue;
      if (facts.history.managed() || facts.history.count(FaultKind::Of::login) > 0) continue;
      if (facts.history.outlasted_lease()) continue;
      broke("a sound host is called lost: " + lost.why);
    }
  }
}

}  // namespace sim
