#include "job/rounds.h"

#include <gmock/gmock.h>

#include <cerrno>
#include <csignal>

#include "job/job.h"

namespace dlaunch::job {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Outcome failed(int rank, int code) {
  Outcome outcome;
  outcome.cause = Cause::rank_failed;
  outcome.exit_code = code;
  outcome.first_failure = rank;
  outcome.ranks.resize(4);
  outcome.ranks[static_cast<size_t>(rank)].status = ExitStatus(Exited{code});
  outcome.may_restart = true;
  return outcome;
}

TEST(Rounds, FirstRestartIsImmediateAndLaterRestartsWaitLonger) {
  Rounds rounds({}, 100);
  std::vector<seconds::rep> waits;
  for (int round = 0; round < 9; ++round) {
    const auto verdict = rounds.ended(failed(0, round % 2 + 3), seconds(1));
    ASSERT_TRUE(verdict.again);
    waits.push_back(verdict.wait.count());
  }
  EXPECT_THAT(waits, testing::ElementsAre(0, 1, 2, 4, 8, 16, 32, 60, 60));
  EXPECT_EQ(rounds.ended(failed(0, 1), Rounds::kLong).wait, seconds(0));
  EXPECT_EQ(rounds.ended(failed(1, 1), seconds(1)).wait, seconds(0));
  EXPECT_EQ(rounds.number(), 11);
}

TEST(Rounds, RanksWaitForTheLostHostsOfEarlierRounds) {
  Rounds rounds({}, 3);
  Outcome lost = failed(0, 1);
  lost.leftovers = {"a: cannot connect again"};
  lost.unswept = {{.host = 0, .why = "cannot connect again", .gone_by = Time{} + seconds(40)}};
  EXPECT_EQ(rounds.ended(lost, seconds(1), 2, {}, {}, Time{} + seconds(10)).start_at, Time{} + seconds(40));
  EXPECT_EQ(rounds.ended(failed(1, 2), seconds(1), 2, {}, {}, Time{} + seconds(20)).start_at, Time{} + seconds(40));
  EXPECT_EQ(rounds.ended(failed(1, 3), Rounds::kLong, 2, {}, {}, Time{} + seconds(50)).start_at, Time{} + seconds(50));
}

Outcome failed_by_host(int rank, ExitStatus status) {
  Outcome outcome = failed(rank, 1);
  outcome.exit_code = status.shell_code();
  outcome.ranks[static_cast<size_t>(rank)].status = std::move(status);
  return outcome;
}

TEST(Rounds, HostThatFailsTwiceIsReplacedByASpareHost) {
  const Outcome bus = failed_by_host(1, ExitStatus(Signaled{SIGBUS}));
  const Outcome not_started = failed_by_host(2, ExitStatus(NotStarted{EIO, "cannot execute ./a.out"}));
  Rounds rounds({}, 100);
  EXPECT_EQ(rounds.ended(bus, Rounds::kLong, 1, "b").replaced, "");
  EXPECT_EQ(rounds.ended(failed(1, 1), Rounds::kLong, 1, "b").replaced, "");
  EXPECT_EQ(rounds.ended(not_started, Rounds::kLong, 1, "a").replaced, "");
  EXPECT_EQ(rounds.ended(failed_by_host(1, ExitStatus(Signaled{SIGSEGV})), Rounds::kLong, 1, "b").replaced, "");
  EXPECT_EQ(rounds.ended(not_started, Rounds::kLong, 0, "b").replaced, "");
  EXPECT_EQ(rounds.ended(bus, Rounds::kLong, 1, "b").replaced, "b");

  Outcome with_lost = bus;
  with_lost.lost_hosts.push_back({"c", "its agent fell silent", ""});
  EXPECT_EQ(rounds.ended(with_lost, Rounds::kLong, 1, "b").replaced, "");
  EXPECT_EQ(rounds.ended(with_lost, Rounds::kLong, 2, "b").replaced, "b");
}

TEST(Rounds, LostHostThatFailedTwiceIsReplacedOnce) {
  Outcome bus = failed_by_host(1, ExitStatus(Signaled{SIGBUS}));
  Rounds rounds({}, 100);
  EXPECT_EQ(rounds.ended(bus, Rounds::kLong, 2, "b").replaced, "");
  bus.lost_hosts.push_back({"b", "its agent fell silent", ""});
  EXPECT_EQ(rounds.ended(bus, Rounds::kLong, 2, "b").replaced, "");
}

TEST(Rounds, LostHostWithoutASpareHostEndsTheJobUnlessItMayShrink) {
  Outcome lost = failed(1, 125);
  lost.cause = Cause::host_lost;
  lost.lost_hosts.push_back({"c", "its agent fell silent", ""});
  EXPECT_FALSE(Rounds({}, 1).ended(lost, seconds(1)).again);
  EXPECT_TRUE(Rounds({.shrink = true}, 1).ended(lost, seconds(1)).again);
}

TEST(Rounds, StopsAfterThreeEqualFailuresInARow) {
  Rounds rounds({}, 100);
  EXPECT_TRUE(rounds.ended(failed(3, 1), seconds(1)).again);
  EXPECT_TRUE(rounds.ended(failed(3, 1), seconds(59)).again);
  const auto verdict = rounds.ended(failed(3, 1), seconds(1));
  EXPECT_FALSE(verdict.again);
  EXPECT_TRUE(verdict.in_vain);
  EXPECT_THAT(verdict.why_not, HasSubstr("same way 3 times"));
}

TEST(Rounds, EqualFailuresOfDifferentRanksEndTheJob) {
  Rounds rounds({}, 50);
  EXPECT_TRUE(rounds.ended(failed(3, 1), seconds(1), 0, "a", {"[rank3]: bad shape", ""}).again);
  EXPECT_TRUE(rounds.ended(failed(0, 1), seconds(1), 0, "b", {"other", "[rank0]: bad shape"}).again);
  const auto verdict = rounds.ended(failed(2, 1), seconds(1), 0, "a", {"[rank2]: bad shape"});
  EXPECT_FALSE(verdict.again);
  EXPECT_TRUE(verdict.in_vain);
}

TEST(Rounds, FailuresWithDifferentLastLinesGoOn) {
  Rounds rounds({}, 50);
  for (int round = 0; round < 10; ++round) {
    const std::string line = round % 3 == 0 ? "out of memory" : round % 3 == 1 ? "bad shape" : "cannot connect";
    EXPECT_TRUE(rounds.ended(failed(1, 1), seconds(1), 0, "a", {line}).again);
  }
}

TEST(Rounds, FailureWithoutALineIsAlikeByItsStatus) {
  const auto last_of = [](const std::vector<std::string>& lines) {
    Rounds rounds({}, 50);
    bool again = true;
    for (const std::string& line : lines) again = rounds.ended(failed(1, 1), seconds(1), 0, "a", {line}).again;
    return again;
  };
  EXPECT_FALSE(last_of({"", "", ""}));
  EXPECT_FALSE(last_of({"bad shape", "", "bad shape"}));
  EXPECT_TRUE(last_of({"bad shape", "", "out of memory"})) << "two known lines differ";
}

TEST(Rounds, LossesOfDifferentHostsGoOn) {
  const auto lost = [](const std::string& host) {
    Outcome outcome = failed(1, 125);
    outcome.cause = Cause::host_lost;
    outcome.lost_hosts = {{host, "closed", ""}};
    outcome.detail = host + ": closed";
    return outcome;
  };
  Rounds rounds({}, 50);
  for (const char* host : {"a", "b", "c", "d"}) EXPECT_TRUE(rounds.ended(lost(host), seconds(1), 9).again) << host;
  EXPECT_TRUE(rounds.ended(lost("d"), seconds(1), 9).again);
  EXPECT_FALSE(rounds.ended(lost("d"), seconds(1), 9).again);
}

TEST(Rounds, DifferentCodeOrALongRoundResetsTheCount) {
  for (const auto& [between, lived] : {std::pair{failed(3, 4), seconds(1)}, std::pair{failed(3, 1), seconds(60)}}) {
    Rounds rounds({}, 100);
    EXPECT_TRUE(rounds.ended(failed(3, 1), seconds(1)).again);
    EXPECT_TRUE(rounds.ended(failed(3, 1), seconds(1)).again);
    EXPECT_TRUE(rounds.ended(between, lived).again);
    EXPECT_TRUE(rounds.ended(failed(3, 1), seconds(1)).again);
  }
}

TEST(Rounds, DoesNotRestartAfterFailuresThatARestartCannotFix) {
  for (const int code : {2, 126, 127}) {
    Rounds rounds({}, 5);
    EXPECT_THAT(rounds.ended(failed(0, code), seconds(1)).why_not, HasSubstr(std::to_string(code)));
    EXPECT_EQ(rounds.number(), 0);
    EXPECT_TRUE(rounds.ended(failed(0, 1), seconds(1)).again);
    EXPECT_TRUE(rounds.ended(failed(0, code), seconds(1)).again) << "it started before";
  }
  EXPECT_THAT(Rounds({}, 5).ended(failed(0, 93), seconds(100)).why_not, HasSubstr("--no-restart-codes"));
  EXPECT_TRUE(Rounds({.no_restart_codes = {7}}, 5).ended(failed(0, 93), seconds(100)).again);
  EXPECT_FALSE(Rounds({.no_restart_codes = {7}}, 5).ended(failed(0, 7), seconds(100)).again);
}

TEST(Rounds, RestartsIfAHostLackedProcessesOrMemory) {
  for (const auto& [error, again] : {std::pair{EAGAIN, true}, std::pair{ENOMEM, true}, std::pair{EACCES, false}}) {
    Outcome outcome = failed(0, 126);
    outcome.ranks[0].status = ExitStatus(NotStarted{.error = error, .what = "fork"});
    EXPECT_EQ(Rounds({}, 5).ended(outcome, seconds(1)).again, again) << error;
  }
}

TEST(Rounds, DoesNotRestartWithoutCleanHosts) {
  Outcome outcome = failed(0, 1);
  outcome.may_restart = false;
  EXPECT_FALSE(Rounds({}, 5).ended(outcome, seconds(1)).again);
  outcome = failed(0, 1);
  outcome.leftovers.emplace_back("host0: pid 12 (python3)");
  EXPECT_THAT(Rounds({}, 5).ended(outcome, seconds(1)).why_not, HasSubstr("processes of the failed round"));
  outcome.leftovers = {"host0: cannot remove /tmp/dlaunch-1-2: Device or resource busy"};
  EXPECT_TRUE(Rounds({}, 5).ended(outcome, seconds(1)).again) << "a file that is left";
  outcome.leftovers = {"host0: cannot remove /tmp/dlaunch-1-2: the disk does not respond"};
  EXPECT_FALSE(Rounds({}, 5).ended(outcome, seconds(1)).again) << "a process waits for the disk";
}

TEST(Rounds, LostHostRequiresASpareHost) {
  Outcome outcome;
  outcome.cause = Cause::host_lost;
  outcome.may_restart = true;
  outcome.lost_hosts = {{"host0", "silence", ""}, {"host1", "silence", ""}};
  EXPECT_THAT(Rounds({}, 5).ended(outcome, seconds(1)).why_not, HasSubstr("no spare host"));
  EXPECT_THAT(Rounds({}, 5).ended(outcome, seconds(1), 1).why_not,
              HasSubstr("2 hosts are lost, but only 1 spare host is left"));
  EXPECT_EQ(Rounds({}, 5).ended(outcome, seconds(1), 2).wait, seconds(0));
  outcome.leftovers = {"host0: cannot connect again"};
  outcome.unswept = {{0, "no route", Time{} + seconds(112)},
                     {1, "no route", Time{} + std::chrono::milliseconds(117500)}};
  const auto verdict = Rounds({}, 5).ended(outcome, seconds(1), 2, {}, {}, Time{} + seconds(100));
  EXPECT_TRUE(verdict.again);
  EXPECT_EQ(verdict.start_at, Time{} + std::chrono::milliseconds(117500)) << "until the agents have ended the ranks";
  EXPECT_EQ(verdict.wait, seconds(18));
  EXPECT_EQ(Rounds({}, 5).ended(outcome, seconds(1), 2, {}, {}, Time{} + seconds(200)).start_at, Time{} + seconds(200));
}

/// A job of two ranks on one host. Rank 0 fails at once.
class RestartedJob : public testing::Test {
 protected:
  static Time at(int s) { return Time{} + seconds(s); }

  Actions fail_and_end() {
    job.handle(HostReady{0}, at(0));
    for (const int rank : {0, 1}) job.handle(RankStarted{rank, 100 + rank, 1, ""}, at(0));
    job.handle(RankEnded{0, ExitStatus(Exited{3}), 2}, at(1));
    job.handle(RankEnded{1, ExitStatus(Signaled{SIGTERM}), 3}, at(1));
    job.handle(RankDrained{0}, at(1));
    return job.handle(RankDrained{1}, at(1));
  }

  Job job{{}, {0, 0}, {"host0"}, Time{}};
};

TEST_F(RestartedJob, FailedRoundKeepsItsHostsForTheNext) {
  job.allow_restart();
  EXPECT_THAT(fail_and_end(), Contains(Action(FinishHost{0, true})));
  EXPECT_THAT(job.handle(HostClean{0, {}}, at(1)), testing::ElementsAre(Action(Finished{})));
  EXPECT_TRUE(job.outcome().may_restart);
}

TEST_F(RestartedJob, WithoutRestartsTheHostsAreFinished) {
  EXPECT_THAT(fail_and_end(), Contains(Action(FinishHost{0, false})));
  EXPECT_THAT(job.handle(HostClean{0, {}}, at(1)), Contains(Action(DropHost{0})));
  EXPECT_FALSE(job.outcome().may_restart);
}

TEST_F(RestartedJob, SignalOfTheUserDuringCleanupEndsTheJob) {
  job.allow_restart();
  fail_and_end();
  job.handle(UserSignal{SIGINT}, at(1));
  job.handle(HostClean{0, {}}, at(1));
  EXPECT_FALSE(job.outcome().may_restart);
  EXPECT_EQ(job.outcome().no_restart, "received SIGINT while the round was being stopped");
}

TEST_F(RestartedJob, ReportsWhyARestartIsNotDone) {
  fail_and_end();
  job.handle(UserSignal{SIGINT}, at(1));
  EXPECT_EQ(job.outcome().no_restart, "");
  Outcome outcome;
  outcome.no_restart = "the time limit was reached";
  EXPECT_EQ(Rounds(Policy{}, 1).ended(outcome, seconds(1)).why_not, outcome.no_restart);
}

TEST_F(RestartedJob, TimeLimitWhileARoundEndsEndsTheJob) {
  Policy policy;
  policy.timeout = seconds(10);
  Job limited(policy, {0, 0}, {"host0"}, at(0));
  limited.allow_restart();
  limited.handle(HostReady{0}, at(0));
  for (const int rank : {0, 1}) limited.handle(RankStarted{rank, 100 + rank, 1, ""}, at(0));
  limited.handle(RankEnded{0, ExitStatus(Exited{3}), 2}, at(9));
  limited.tick(at(10));
  EXPECT_EQ(limited.outcome().cause, Cause::rank_failed);
  EXPECT_EQ(limited.outcome().no_restart, "the time limit was reached");
}

TEST_F(RestartedJob, TimeLimitDuringAStopOfTheLauncherEndsTheJob) {
  Policy policy;
  policy.timeout = seconds(10);
  Job limited(policy, {0}, {"host0"}, at(0));
  limited.allow_restart();
  limited.handle(HostReady{0}, at(0));
  limited.handle(RankStarted{0, 100, 1, ""}, at(0));
  limited.handle(RankEnded{0, ExitStatus(Exited{3}), 2}, at(5));
  EXPECT_THAT(limited.handle(RankDrained{0}, at(5)), Contains(Action(FinishHost{0, true})));
  EXPECT_THAT(limited.handle(HostClean{0, {}}, at(12)), Contains(Action(Finished{})));  // stopped from 6 to 12
  EXPECT_FALSE(limited.outcome().may_restart);
  EXPECT_EQ(limited.outcome().no_restart, "the time limit was reached");
}

/// Two hosts with one rank each. Rank 0 fails.
class RestartedOnTwoHosts : public testing::Test {
 protected:
  static Time at(int s) { return Time{} + seconds(s); }

  RestartedOnTwoHosts() {
    job.allow_restart();
    for (const int host : {0, 1}) job.handle(HostReady{host}, at(0));
    for (const int rank : {0, 1}) job.handle(RankStarted{rank, 100 + rank, 1, ""}, at(0));
    job.handle(RankEnded{0, ExitStatus(Exited{3}), 2}, at(1));
    job.handle(RankEnded{1, ExitStatus(Signaled{SIGTERM}), 3}, at(1));
    for (const int rank : {0, 1}) job.handle(RankDrained{rank}, at(1));
  }

  std::vector<std::string> lost() const {
    std::vector<std::string> names;
    for (const LostHost& host : job.outcome().lost_hosts) names.push_back(host.name);
    return names;
  }

  Job job{{}, {0, 1}, {"host0", "host1"}, Time{}};
};

TEST_F(RestartedOnTwoHosts, HostLostBeforeItConfirmsIsLostForTheNextRound) {
  EXPECT_THAT(job.handle(HostLost{1, "closed", ""}, at(2)), Contains(Action(SweepHost{1})));
  job.handle(HostSwept{1, ""}, at(2));
  job.handle(HostClean{0, {}}, at(2));
  EXPECT_TRUE(job.outcome().may_restart);
  EXPECT_THAT(lost(), testing::ElementsAre("host1"));
}

TEST_F(RestartedOnTwoHosts, HostLostAfterItConfirmsIsLostForTheNextRound) {
  job.handle(HostClean{1, {}}, at(2));
  EXPECT_TRUE(job.handle(HostLost{1, "closed", ""}, at(2)).empty());
  job.handle(HostClean{0, {}}, at(2));
  EXPECT_EQ(job.phase(), Phase::finished);
  EXPECT_TRUE(job.handle(HostLost{0, "closed", ""}, at(2)).empty());
  EXPECT_THAT(lost(), testing::ElementsAre("host1", "host0"));
  EXPECT_EQ(job.outcome().cause, Cause::rank_failed);
  EXPECT_THAT(Rounds(Policy{}, 1).ended(job.outcome(), seconds(1)).why_not, HasSubstr("no spare host"));
}

TEST_F(RestartedJob, SignalToAHostEndsTheJob) {
  job.allow_restart();
  fail_and_end();
  job.handle(HostTermination{SIGTERM, 5, "host0 received a termination signal"}, at(1));
  job.handle(HostClean{0, {}}, at(1));
  EXPECT_FALSE(job.outcome().may_restart);
}

TEST_F(RestartedJob, HostWithoutConfirmationPreventsTheNextRound) {
  job.allow_restart();
  fail_and_end();
  job.host_heard(0, at(2), at(2));
  job.tick(at(60));
  job.host_heard(0, at(61), at(61));
  job.tick(at(65));
  EXPECT_EQ(job.phase(), Phase::finished);
  EXPECT_FALSE(job.outcome().may_restart);
}

TEST_F(RestartedJob, SuccessEndsTheJob) {
  job.allow_restart();
  job.handle(HostReady{0}, at(0));
  for (const int rank : {0, 1}) job.handle(RankEnded{rank, ExitStatus(Exited{0}), 2}, at(1));
  job.handle(RankDrained{0}, at(1));
  EXPECT_THAT(job.handle(RankDrained{1}, at(1)), Contains(Action(FinishHost{0, false})));
}

TEST_F(RestartedJob, RanksWaitForTheStartTime) {
  job.start_not_before(at(8));
  EXPECT_THAT(job.handle(HostReady{0}, at(1)), IsEmpty());
  EXPECT_EQ(job.progress().start_at, at(8));
  EXPECT_EQ(job.deadline(), at(8));
  EXPECT_THAT(job.tick(at(7)), IsEmpty());
  EXPECT_THAT(job.tick(at(8)), Contains(Action(StartRanks{0})));
}

TEST_F(RestartedJob, SignalEndsTheWaitAndTheJob) {
  job.allow_restart();
  job.start_not_before(at(8));
  job.handle(HostReady{0}, at(1));
  EXPECT_THAT(job.handle(UserSignal{SIGINT}, at(2)), Contains(Action(FinishHost{0, false})));
  job.handle(HostClean{0, {}}, at(2));
  EXPECT_EQ(job.outcome().exit_code, 128 + SIGINT);
  EXPECT_FALSE(job.outcome().may_restart);
}

TEST_F(RestartedJob, HostLostDuringTheWaitEndsTheRound) {
  job.allow_restart();
  job.start_not_before(at(8));
  job.handle(HostReady{0}, at(1));
  EXPECT_THAT(job.handle(HostLost{0, "silence"}, at(2)), Not(Contains(Action(StartRanks{0}))));
  EXPECT_EQ(job.outcome().cause, Cause::host_lost);
}

}  // namespace
}  // namespace dlaunch::job
