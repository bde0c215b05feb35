// The rank that failed first: ends on hosts whose clocks differ, and ends that dlaunch or a user caused.
#include <gmock/gmock.h>

#include <csignal>
#include <limits>
#include <optional>
#include <utility>

#include "job/job.h"
#include "job/rank_states.h"

namespace dlaunch::job {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kStart = 1'700'000'000'000'000'000;
const ExitStatus kFails = ExitStatus(Exited{7});
const ExitStatus kTermed = ExitStatus(Signaled{SIGTERM});

RankRecord ended(std::int64_t ns, std::optional<ExitStatus> status = {}) {
  RankRecord record;
  record.status = std::move(status);
  record.end_ns = ns;
  return record;
}

/// A host whose clock is `ahead_ms` ahead. The launcher's measurement is wrong by `wrong_ms`, at most `error_ms`.
struct Host {
  std::int64_t ahead_ms = 0;
  std::int64_t error_ms = 0;
  std::int64_t wrong_ms = 0;

  HostClock clock() const { return {(ahead_ms + wrong_ms) * kMs, error_ms * kMs}; }
  std::int64_t time(std::int64_t ms) const { return kStart + (ms + ahead_ms) * kMs; }
};

/// A job with one rank per host. Times are true times in milliseconds.
class TwoClocks {
 public:
  explicit TwoClocks(std::vector<Host> hosts, Policy policy = {})
      : hosts_(std::move(hosts)), job(policy, numbers(hosts_.size()), names(hosts_.size()), Time{}) {
    for (int host = 0; host < static_cast<int>(hosts_.size()); ++host) job.handle(HostReady{host}, Time{});
    for (int rank = 0; rank < static_cast<int>(hosts_.size()); ++rank) {
      job.handle(RankStarted{rank, 100 + rank, at_index(hosts_, rank).time(0), ""}, Time{});
    }
  }
  Actions end(int rank, const ExitStatus& status, std::int64_t ms, bool after_signal = false) {
    const Host& host = at_index(hosts_, rank);
    return job.handle(RankEnded{rank, status, host.time(ms), host.clock(), after_signal}, Time{});
  }
  Actions abort(int rank, int code, std::int64_t ms) {
    const Host& host = at_index(hosts_, rank);
    return job.handle(RankAborted{rank, code, host.time(ms), host.clock()}, Time{});
  }
  int first() const { return job.outcome().first_failure.value_or(-1); }
  const RankRecord& record(int rank) const { return at_index(job.outcome().ranks, rank); }

 private:
  static std::vector<int> numbers(size_t size) {
    std::vector<int> numbers;
    for (size_t i = 0; i < size; ++i) numbers.push_back(static_cast<int>(i));
    return numbers;
  }
  static std::vector<std::string> names(size_t size) { return std::vector<std::string>(size, "node"); }

  std::vector<Host> hosts_;

 public:
  Job job;
};

TEST(FirstFailure, RankEndedByOurSignalIsNotTheCause) {
  for (const std::int64_t ahead : {-500, -20, -2, 0, 2, 20, 500}) {
    for (const std::int64_t error : {0, 1, 1000}) {
      TwoClocks job({{}, {.ahead_ms = ahead, .error_ms = error}});
      job.end(0, kFails, 100);
      job.end(1, kTermed, 101, true);
      EXPECT_EQ(job.first(), 0) << ahead;
      EXPECT_EQ(job.job.outcome().exit_code, 7) << ahead;
      EXPECT_TRUE(job.record(1).ended_by_us) << ahead;
    }
  }
}

TEST(FirstFailure, RankEndedByOurSignalIsNotTheCauseEvenIfItsClockWasSetBack) {
  for (const ExitStatus& status : {kTermed, ExitStatus(Exited{9}), ExitStatus(Exited{0})}) {
    TwoClocks job({{}, {.ahead_ms = -3600'000, .wrong_ms = 3600'000}});
    job.end(0, kFails, 100);
    job.end(1, status, 101, true);
    EXPECT_EQ(job.first(), 0);
    EXPECT_TRUE(job.record(1).ended_by_us);
  }
}

TEST(FirstFailure, EarlierFailureOnAHostWhoseClockIsWrongIsTheCause) {
  for (const std::int64_t ahead : {-500, -20, -2, 0, 2, 20, 500}) {
    for (const bool reported_first : {true, false}) {
      TwoClocks job({{}, {.ahead_ms = ahead, .error_ms = 1, .wrong_ms = 1}});
      if (reported_first) job.end(1, ExitStatus(Exited{9}), 97);
      job.end(0, kFails, 100, reported_first);
      if (!reported_first) job.end(1, ExitStatus(Exited{9}), 97);
      EXPECT_EQ(job.first(), 1) << ahead;
      EXPECT_EQ(job.job.outcome().exit_code, 9) << ahead;
      EXPECT_FALSE(job.record(1).ended_by_us) << ahead;
    }
  }
}

TEST(FirstFailure, OrderOfTheReportsDecidesWithinTheError) {
  for (const std::int64_t later : {-3, -1, 0, 1, 3}) {
    TwoClocks job({{.ahead_ms = 40, .error_ms = 1}, {.ahead_ms = -40, .error_ms = 2}});
    job.end(1, ExitStatus(Exited{9}), 100 + later);
    job.end(0, kFails, 100);
    EXPECT_EQ(job.first(), 1) << later;
    EXPECT_EQ(job.job.outcome().exit_code, 9) << later;
    EXPECT_FALSE(job.record(0).ended_by_us) << later;
  }
}

TEST(FirstFailure, OrderOfTheReportsDecidesEqualTimes) {
  TwoClocks job({Host{}, Host{}});
  job.end(1, ExitStatus(Exited{9}), 100);
  job.end(0, kFails, 100);
  EXPECT_EQ(job.first(), 1);
  EXPECT_FALSE(job.record(0).ended_by_us);
}

TEST(FirstFailure, ErrorsDoNotMatterOnOneHost) {
  const HostClock clock{kStart, 5000 * kMs};
  const RankRecord early = ended(kStart);
  const RankRecord late = ended(kStart + 1);
  EXPECT_TRUE(before({early, 3, clock}, {late, 3, {}}));
  EXPECT_FALSE(before({late, 3, clock}, {early, 3, {}}));
  EXPECT_FALSE(before({early, 3, clock}, {late, 4, clock}));
}

TEST(FirstFailure, IsKeptUnderOnFailureContinue) {
  Policy policy;
  policy.abort_on_failure = false;
  TwoClocks job({{}, {.ahead_ms = -500, .error_ms = 1}, {.ahead_ms = 500, .error_ms = 1}}, policy);
  job.end(0, ExitStatus(Exited{3}), 100);
  job.end(1, ExitStatus(Exited{4}), 200);
  EXPECT_EQ(job.job.outcome().exit_code, 3);
  job.end(2, ExitStatus(Exited{5}), 50);  // its report was late
  EXPECT_EQ(job.first(), 2);
  EXPECT_EQ(job.job.outcome().exit_code, 5);
}

TEST(FirstFailure, UsersSignalLeavesNone) {
  TwoClocks job({{}, {.ahead_ms = -500}});
  job.job.handle(UserSignal{SIGINT}, Time{});
  job.end(1, ExitStatus(Signaled{SIGINT}), 100, true);
  job.end(0, kFails, 100, true);
  EXPECT_EQ(job.first(), -1);
  EXPECT_EQ(job.job.outcome().exit_code, kSignalBase + SIGINT);
}

TEST(FirstFailure, AbortBeforeTheUsersSignalIsNotStoppedByIt) {
  for (const auto& [aborted_ms, by_us] : {std::pair{9'990, true}, {9'000, false}}) {
    TwoClocks job({{}, {.ahead_ms = -500, .error_ms = 50}});
    const Time signal = Time(std::chrono::nanoseconds(Host{}.time(10'000)));
    job.job.handle(UserSignal{SIGINT}, signal);  // the launcher was stopped, and reads the abort later
    job.abort(1, 9, aborted_ms);
    job.end(1, kFails, 9'995);
    EXPECT_EQ(job.record(1).ended_by_us, by_us) << aborted_ms;
    EXPECT_EQ(job.job.outcome().cause, Cause::interrupted);
  }
}

TEST(FirstFailure, SignalToAHostIsComparedByTheLaunchersTime) {
  for (const auto& [ended_ms, is_failure] : {std::pair{9'500, false}, {8'000, true}}) {
    const Host here;
    const Host there{.ahead_ms = -60'000, .error_ms = 1};
    TwoClocks job({here, there});
    job.end(1, kTermed, ended_ms);
    job.job.handle(HostTermination{SIGTERM, here.time(10'000), "node received a termination signal", 0, here.clock()},
                   Time{});
    EXPECT_EQ(job.first(), is_failure ? 1 : -1);
    EXPECT_EQ(job.job.outcome().cause, is_failure ? Cause::rank_failed : Cause::interrupted);
  }
}

TEST(FirstFailure, EndAfterAnEarlierAbortKeepsTheAbort) {
  TwoClocks job({{}, {.ahead_ms = -500, .error_ms = 1}});
  job.abort(1, 9, 100);
  job.end(0, kFails, 90);  // before the abort
  EXPECT_EQ(job.first(), 0);
  job.end(1, kTermed, 120, true);
  EXPECT_EQ(job.first(), 0);
  EXPECT_TRUE(job.record(1).ended_by_us);
  EXPECT_EQ(job.record(1).end_ns, Host{.ahead_ms = -500}.time(100));

  TwoClocks aborted({{}, {.ahead_ms = -500, .error_ms = 1}});
  aborted.abort(1, 9, 100);
  aborted.end(1, kTermed, 120, true);
  EXPECT_EQ(aborted.first(), 1);
  EXPECT_FALSE(aborted.record(1).ended_by_us);
}

TEST(FirstFailure, SigpipeShortlyBeforeAKilledPeerIsAConsequence) {
  const RankRecord killed = ended(kStart, ExitStatus(Signaled{SIGKILL}));
  RankRecord piped = ended(kStart - 100 * kMs, ExitStatus(Signaled{SIGPIPE}));
  EXPECT_TRUE(before({killed}, {piped}));
  EXPECT_FALSE(before({piped}, {killed}));
  piped.end_ns = kStart - 3000 * kMs;  // much earlier
  EXPECT_TRUE(before({piped}, {killed}));
  EXPECT_FALSE(before({killed}, {piped}));
  EXPECT_TRUE(before({killed, 0, {0, 1500 * kMs}}, {piped, 1, {0, 1000 * kMs}}));
}

TEST(FirstFailure, AcceptsAnyTimeOfAnAgent) {
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const RankRecord early = ended(kLeast);
  const RankRecord late = ended(kMost);
  EXPECT_TRUE(before({early, 0, {}}, {late, 1, {}}));
  EXPECT_FALSE(before({late, 0, {kLeast, kMost}}, {early, 1, {kMost, kMost}}));
  EXPECT_TRUE(before({early, 0, {}}, {late, 0, {}}));
}

}  // namespace
}  // namespace dlaunch::job
