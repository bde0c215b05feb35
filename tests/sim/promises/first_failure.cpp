// Promise: dlaunch names the true cause of the job's end, the rank that failed first, and exits with its code.
#include <algorithm>

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

static int host_of(const Facts& facts, int rank) {
  for (const auto& [pid, process] : facts.world.processes().all()) {
    if (process.rank == rank && process.round == facts.world.round()) return process.host;
  }
  return facts.plan.rank(rank).host;
}

void FirstFailure::job_ended(const Facts& facts) {
  if (!facts.outcome) return;
  const job::Outcome& outcome = *facts.outcome;
  switch (outcome.cause) {
    case job::Cause::success:
      if (outcome.exit_code != 0) broke("exit code " + std::to_string(outcome.exit_code) + " after success");
      if (!failures_of(facts, facts.world.round()).empty()) broke("success, although a rank failed");
      return;
    case job::Cause::rank_failed:
      return rank_failed(facts);
    case job::Cause::interrupted:
      if (outcome.exit_code != 128 + outcome.signal) broke("the exit code is not 128 + the signal");
      if (!facts.history.user_signalled() && !facts.history.managed()) broke("\"interrupted\" without a signal");
      return;
    case job::Cause::timeout:
      if (facts.world.scenario().timeout == 0) broke("a timeout without --timeout");
      return;
    case job::Cause::host_lost:
      return host_lost(facts);
    case job::Cause::preempted:
      if (!facts.world.scenario().preempt) broke("preempted without --checkpoint-signal");
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
  if (named == failures.end()) {
    const bool ended_by_manager = facts.history.managed();
    // A worker or guardian that is killed takes the ranks of its host along.
    const bool ended_by_host = facts.history.impaired().contains(host_of(facts, rank));
    const bool left_mpi = record.status && std::holds_alternative<dlaunch::LeftMpi>(record.status->value());
    if (!ended_by_manager && !ended_by_host && !left_mpi) {
      broke("a rank that did not fail by itself is called the first failure: " +
            (record.status ? record.status->describe() : std::string("no status")));
    }
    return;
  }
  const auto& first = failures.front();
  const Ns error = facts.world.scenario().clock_error();
  const bool seen = !facts.history.impaired().contains(first.host) && facts.history.count(FaultKind::Of::launcher) == 0;
  if (first.rank != rank && seen && named->time > first.time + error)
    broke("a rank that failed later is called the first failure");
  if (record.status && outcome.exit_code != record.status->shell_code() && outcome.exit_code != 93) {
    broke("the exit code is not the code of the first failure");
  }
}

void FirstFailure::host_lost(const Facts& facts) {
  for (const job::LostHost& lost : facts.outcome->lost_hosts) {
    for (int host = 0; host < facts.world.host_count(); ++host) {
      if (facts.world.host(host).name != lost.name || facts.history.impaired().contains(host)) continue;
      if (facts.history.managed() || facts.history.count(FaultKind::Of::login) > 0) continue;
      if (facts.history.outlasted_lease()) continue;
      broke("a sound host is called lost: " + lost.why);
    }
  }
}

}  // namespace sim
