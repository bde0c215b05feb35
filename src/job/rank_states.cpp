#include "job/rank_states.h"

#include <csignal>
#include <variant>

#include "base/index_cast.h"

namespace dlaunch::job {
namespace {

constexpr std::int64_t kReapingNs = std::chrono::nanoseconds(kReaping).count();

/// Whether neither another rank nor dlaunch's signal can be the reason. An agent reports LeftMpi only before it sends
/// signals.
bool ended_by_itself(const RankRecord& record) {
  if (!record.status) return false;
  const auto* by = std::get_if<Signaled>(&record.status->value());
  if (by) return by->signal == SIGKILL && !record.needed_kill;
  return std::holds_alternative<LeftMpi>(record.status->value());
}

/// Whether the end may follow from the end of another rank.
bool ended_by_peer(const RankRecord& record) {
  const auto* by = record.status ? std::get_if<Signaled>(&record.status->value()) : nullptr;
  return record.abort_code || (by && by->signal == SIGPIPE);
}

}  // namespace

bool before(const RankRecord& one, const RankRecord& other) {
  if (ended_by_peer(other) && ended_by_itself(one)) return one.end_ns < other.end_ns + kReapingNs;
  if (ended_by_peer(one) && ended_by_itself(other)) return one.end_ns + kReapingNs <= other.end_ns;
  return one.end_ns < other.end_ns;
}

RankStates::RankStates(const std::vector<int>& host_of_rank, size_t hosts, Outcome& outcome)
    : outcome_(outcome), of_host_(hosts) {
  place(host_of_rank);
}

std::set<int> RankStates::place(const std::vector<int>& host_of_rank) {
  for (const int host : host_of_rank) {
    at_index(of_host_, host).push_back(size());
    host_of_rank_.push_back(host);
  }
  outcome_.ranks.resize(host_of_rank_.size());
  drained_.resize(host_of_rank_.size());
  return {host_of_rank.begin(), host_of_rank.end()};
}

std::set<int> RankStates::add(const std::vector<int>& host_of_rank) {
  worlds_.begin(size());
  expect(static_cast<int>(host_of_rank.size()));
  return place(host_of_rank);
}

void RankStates::expect(int ranks) {
  live_ += ranks;
  undrained_ += ranks;
}

void RankStates::started(const RankStarted& event) {
  RankRecord& record = at_index(outcome_.ranks, event.rank);
  record.pid = event.pid;
  record.start_ns = event.time_ns;
  record.cpus = event.cpus;
  ++started_;
}

bool RankStates::ended(const RankEnded& event) {
  RankRecord& record = at_index(outcome_.ranks, event.rank);
  if (record.status) return false;
  record.status = record.abort_code ? ExitStatus(Aborted{*record.abort_code}) : event.status;
  if (!record.abort_code) record.end_ns = event.time_ns;
  record.needed_kill = killed_;
  --live_;
  const bool ran = !std::holds_alternative<NotStarted>(event.status.value());
  if (signalled_ && ran) record.ended_by_us = follows(record);
  return true;
}

bool RankStates::aborted(const RankAborted& event) {
  RankRecord& record = at_index(outcome_.ranks, event.rank);
  if (record.status || record.abort_code) return false;
  record.abort_code = event.code;
  record.end_ns = event.time_ns;
  record.ended_by_us = signalled_ && follows(record);
  return true;
}

bool RankStates::drained(int rank) {
  if (at_index(drained_, rank)) return false;
  at_index(drained_, rank) = true;
  --undrained_;
  return true;
}

void RankStates::lose_host(int host, const std::string& why) {
  for (const int rank : at_index(of_host_, host)) {
    RankRecord& record = at_index(outcome_.ranks, rank);
    if (record.status) continue;
    record.status = ExitStatus(Lost{why});
    record.ended_by_us = signalled_;
    --live_;
  }
}

std::set<int> RankStates::give_up() {
  const std::set<int> given_up = running();
  for (const int rank : given_up) at_index(outcome_.ranks, rank).status = ExitStatus(Lost{"did not end after SIGKILL"});
  live_ = 0;
  return given_up;
}

/// Whether the end of `record` is a consequence: of dlaunch's signal, or of the first failure if that was earlier.
bool RankStates::follows(const RankRecord& record) const {
  const auto first = outcome_.first_failure;
  return !first || before(at_index(outcome_.ranks, *first), record);
}

bool RankStates::failed(int rank) {
  const RankRecord& record = at_index(outcome_.ranks, rank);
  if (record.ended_by_us) return false;
  const auto first = outcome_.first_failure;
  if (!first || before(record, at_index(outcome_.ranks, *first))) outcome_.first_failure = rank;
  return true;
}

int RankStates::first_code() const { return code_of(*outcome_.first_failure); }

int RankStates::code_of(int rank) const {
  const RankRecord& record = at_index(outcome_.ranks, rank);
  return record.abort_code ? ExitStatus(Aborted{*record.abort_code}).shell_code() : record.status->shell_code();
}

void RankStates::signalled_from_outside(int signal, std::int64_t time_ns) {
  for (RankRecord& record : outcome_.ranks) {
    const bool by_signal =
        record.status && !record.abort_code && record.status->shell_code() == ExitStatus(Signaled{signal}).shell_code();
    if (by_signal && record.end_ns + kReapingNs >= time_ns) record.ended_by_us = true;
  }
  const auto first = outcome_.first_failure;
  if (first && at_index(outcome_.ranks, *first).ended_by_us) outcome_.first_failure.reset();
}

std::set<int> RankStates::running() const {
  std::set<int> running;
  for (int rank = 0; rank < size(); ++rank) {
    const RankRecord& record = at_index(outcome_.ranks, rank);
    if (record.pid != 0 && !record.status) running.insert(rank);
  }
  return running;
}

}  // namespace dlaunch::job
