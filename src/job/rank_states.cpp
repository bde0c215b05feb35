#include "job/rank_states.h"

#include <algorithm>
#include <csignal>
#include <limits>
#include <variant>

#include "base/end_signals.h"
#include "dlaunch/error.h"

namespace dlaunch::job {
namespace {

constexpr int kNoHost = -1;
constexpr std::int64_t kReapingNs = std::chrono::nanoseconds(kReaping).count();

// Times come from agents, so any value is possible.
std::int64_t sum(std::int64_t one, std::int64_t other) {
  std::int64_t result = 0;
  if (!__builtin_add_overflow(one, other, &result)) return result;
  return one > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}

std::int64_t difference(std::int64_t one, std::int64_t other) {
  std::int64_t result = 0;
  if (!__builtin_sub_overflow(one, other, &result)) return result;
  return one > other ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}

std::int64_t launcher_time(const RankEnd& end) { return difference(end.record.end_ns, end.clock.offset_ns); }

/// The launcher's time, at the latest, of an end or an MPI_Abort.
template <class Event>
std::int64_t latest_ns(const Event& event) {
  return sum(difference(event.time_ns, event.clock.offset_ns), event.clock.error_ns);
}

std::int64_t since_epoch_ns(Time time) { return std::chrono::nanoseconds(time.time_since_epoch()).count(); }

struct Distance {
  std::int64_t ns;
  std::int64_t error_ns;
};

/// The time from one end to another. Two ends on one host have the same clock.
Distance from_to(const RankEnd& one, const RankEnd& other) {
  if (one.host == other.host) return {difference(other.record.end_ns, one.record.end_ns), 0};
  return {difference(launcher_time(other), launcher_time(one)), sum(one.clock.error_ns, other.clock.error_ns)};
}

/// Whether the rank surely ended without another rank or a signal of dlaunch as the reason. An agent reports LeftMpi
/// only before it sends signals.
bool ended_by_itself(const RankRecord& record) {
  if (!record.status) return false;
  const auto* by = std::get_if<Signaled>(&record.status->value());
  if (by) return by->signal == SIGKILL && !record.needed_kill;
  return std::holds_alternative<LeftMpi>(record.status->value());
}

/// An MPI_Abort is reported before the end of its rank.
ExitStatus abort_or(const RankRecord& record, const ExitStatus& end) {
  return record.abort_code ? ExitStatus(Aborted{*record.abort_code}) : end;
}

bool is_killed(const ExitStatus& status) {
  const auto* by = std::get_if<Signaled>(&status.value());
  return by && by->signal == SIGKILL;
}

/// Whether a signal of batch systems and terminals ended the rank, or ended the program of a rank that is a shell. ALRM
/// and XCPU are a rank's own signals, unless `of_job`, the signal that ends the job, is the same.
bool is_stop(const ExitStatus& status, int of_job) {
  const int signal = status.shell_code() - kSignalBase;
  return is_end_signal(signal) && (signal == of_job || (signal != SIGALRM && signal != SIGXCPU));
}

/// Whether the end may follow from the end of another rank.
bool ended_by_peer(const RankRecord& record) {
  const auto* by = record.status ? std::get_if<Signaled>(&record.status->value()) : nullptr;
  return record.abort_code || (by && by->signal == SIGPIPE);
}

}  // namespace

bool before(const RankEnd& one, const RankEnd& other) {
  const Distance distance = from_to(one, other);
  const std::int64_t reaping = sum(kReapingNs, distance.error_ns);
  if (ended_by_peer(other.record) && ended_by_itself(one.record)) return distance.ns > -reaping;
  if (ended_by_peer(one.record) && ended_by_itself(other.record)) return distance.ns >= reaping;
  return distance.ns > distance.error_ns;
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
  clocks_.resize(host_of_rank_.size());
  drained_.resize(host_of_rank_.size());
  given_up_.resize(host_of_rank_.size());
  stuck_.resize(host_of_rank_.size());
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
  const bool was_stuck = at_index(stuck_, event.rank);
  if (record.status && !was_stuck) return false;
  at_index(stuck_, event.rank) = false;
  record.status = abort_or(record, event.status);
  if (!record.abort_code) {
    record.end_ns = event.time_ns;
    at_index(clocks_, event.rank) = event.clock;
  }
  record.needed_kill = killed_ && is_killed(event.status);
  if (!at_index(given_up_, event.rank)) --live_;
  if (signalled_ && may_be_stopped(event)) {
    record.ended_by_us = (event.after_signal && !record.abort_code) || follows(event.rank);
  }
  if (std::ranges::any_of(from_outside_, [&](const auto& signal) { return ended_by(signal, event.rank); })) {
    record.ended_by_us = true;
  }
  return !was_stuck;
}

void RankStates::refused(const RankEnded& event) {
  RankRecord& record = at_index(outcome_.ranks, event.rank);
  record.status = event.status;
  record.end_ns = event.time_ns;
  if (!outcome_.first_failure) outcome_.first_failure = event.rank;
}

bool RankStates::aborted(const RankAborted& event) {
  RankRecord& record = at_index(outcome_.ranks, event.rank);
  if (record.status || record.abort_code) return false;
  record.abort_code = event.code;
  record.end_ns = event.time_ns;
  at_index(clocks_, event.rank) = event.clock;
  const bool earlier = !outcome_.first_failure && latest_ns(event) < since_epoch_ns(signalled_at_);
  record.ended_by_us = signalled_ && !earlier && follows(event.rank);
  return true;
}

bool RankStates::drained(int rank) {
  if (at_index(drained_, rank)) return false;
  at_index(drained_, rank) = true;
  if (given_up_undrained_.erase(rank) > 0) return false;
  --undrained_;
  return true;
}

void RankStates::lose_host(int host, const std::string& why) {
  for (const int rank : at_index(of_host_, host)) {
    if (!is_live(rank)) continue;
    RankRecord& record = at_index(outcome_.ranks, rank);
    record.status = abort_or(record, ExitStatus(Lost{why}));
    record.ended_by_us = false;  // it called MPI_Abort, and its end is unknown
    --live_;
  }
}

void RankStates::set_unheard(int host) {
  for (const int rank : at_index(of_host_, host)) {
    RankRecord& record = at_index(outcome_.ranks, rank);
    record.unheard = !record.status;
  }
}

bool RankStates::live_on(int host) const {
  return std::ranges::any_of(at_index(of_host_, host), [this](int rank) { return is_live(rank); });
}

void RankStates::give_up(int host) {
  for (const int rank : at_index(of_host_, host)) {
    if (!is_live(rank)) continue;
    at_index(given_up_, rank) = true;
    --live_;
    if (!at_index(drained_, rank)) {  // its output may never end
      given_up_undrained_.insert(rank);
      --undrained_;
    }
    RankRecord& record = at_index(outcome_.ranks, rank);
    if (record.pid == 0) continue;  // not started: the record stays without an end
    at_index(stuck_, rank) = true;
    record.status = abort_or(record, ExitStatus(Lost{"did not end after SIGKILL"}));
    record.needed_kill = true;
  }
}

std::set<int> RankStates::stuck() const {
  std::set<int> stuck;
  for (int rank = 0; rank < size(); ++rank) {
    if (at_index(stuck_, rank)) stuck.insert(rank);
  }
  return stuck;
}

RankEnd RankStates::end_of(int rank) const {
  return {at_index(outcome_.ranks, rank), host_of(rank), at_index(clocks_, rank)};
}

/// Whether a signal reached the rank: from dlaunch, or shortly before from a batch system or terminal. After any other
/// end the rank counts as failed, also if it ended later than the first failure.
bool RankStates::may_be_stopped(const RankEnded& event) const {
  if (event.after_signal || !is_stop(event.status, outcome_.signal)) return event.after_signal;
  return sum(latest_ns(event), kReapingNs) >= since_epoch_ns(signalled_at_);
}

/// Whether the end is a consequence: of dlaunch's signal, or of the first failure unless the end was certainly earlier.
bool RankStates::follows(int rank) const {
  const auto first = outcome_.first_failure;
  return !first || (rank != *first && !before(end_of(rank), end_of(*first)));
}

bool RankStates::failed(int rank) {
  if (at_index(outcome_.ranks, rank).ended_by_us) return false;
  const auto first = outcome_.first_failure;
  if (!first || before(end_of(rank), end_of(*first))) outcome_.first_failure = rank;
  return true;
}

int RankStates::first_code() const { return code_of(*outcome_.first_failure); }

int RankStates::code_of(int rank) const {
  const RankRecord& record = at_index(outcome_.ranks, rank);
  return record.abort_code ? ExitStatus(Aborted{*record.abort_code}).shell_code() : record.status->shell_code();
}

bool RankStates::ended_by(const HostTermination& event, int rank) const {
  const RankRecord& record = at_index(outcome_.ranks, rank);
  if (!record.status || record.abort_code) return false;
  if (record.status->shell_code() != ExitStatus(Signaled{event.signal}).shell_code()) return false;
  RankRecord notice;
  notice.end_ns = event.time_ns;
  const Distance distance = from_to(end_of(rank), {notice, kNoHost, event.clock});
  return distance.ns <= sum(kReapingNs, distance.error_ns);
}

void RankStates::signalled_from_outside(const HostTermination& event) {
  const auto same = [&](const HostTermination& before) {
    return before.host == event.host && before.signal == event.signal;
  };
  if (std::ranges::none_of(from_outside_, same)) from_outside_.push_back(event);
  for (int rank = 0; rank < size(); ++rank) {
    if (ended_by(event, rank)) at_index(outcome_.ranks, rank).ended_by_us = true;
  }
  const auto first = outcome_.first_failure;
  if (first && at_index(outcome_.ranks, *first).ended_by_us) outcome_.first_failure.reset();
}

void RankStates::keep_earlier_ends() {
  if (signalled_) return;
  for (RankRecord& record : outcome_.ranks) {
    if (record.status) record.ended_by_us = false;
  }
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
