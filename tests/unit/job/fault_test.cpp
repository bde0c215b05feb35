// A rank killed by a signal of its own fault: the job shows the stacks of the other ranks before it ends them.
#include <gmock/gmock.h>

#include <csignal>

#include "job/job.h"

namespace dlaunch::job {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

Time at(int s) { return Time(seconds(s)); }

/// Two ranks of one host run.
struct Pair {
  explicit Pair(const Policy& policy = {}, bool rounds = false) : job(policy, {0, 0}, {"node1"}, at(0)) {
    job.show_stacks_first();
    if (rounds) job.allow_restart();
    job.handle(HostReady{0}, at(0));
    for (const int rank : {0, 1}) job.handle(RankStarted{rank, 100 + rank, 1, ""}, at(0));
  }
  Actions ends(int rank, const ExitStatus& status, int s) { return job.handle(RankEnded{rank, status, s}, at(s)); }
  Job job;
};

const ExitStatus kFault(Signaled{SIGSEGV});
const Action kAsks(TakeStacks{"rank 1 killed by signal 11 (SIGSEGV)"});

TEST(Fault, WaitsAtMostTwoSecondsForStacks) {
  for (const bool answered : {true, false}) {
    Pair pair;
    EXPECT_THAT(pair.ends(1, kFault, 10), ElementsAre(kAsks));
    EXPECT_EQ(pair.job.phase(), Phase::running);
    EXPECT_EQ(pair.job.deadline(), at(12));
    const Actions then = answered ? pair.job.handle(StacksTaken{}, at(11)) : pair.job.tick(at(12));
    EXPECT_THAT(then, Contains(Action(SignalRanks{SIGTERM})));
    EXPECT_EQ(pair.job.outcome().cause, Cause::rank_failed);
    EXPECT_EQ(pair.job.outcome().exit_code, 128 + SIGSEGV);
    EXPECT_THAT(pair.job.handle(StacksTaken{}, at(13)), IsEmpty());
  }
}

TEST(Fault, FailedOutputDuringTheWaitForStacksIsNotTheCause) {
  Pair pair;
  EXPECT_THAT(pair.ends(1, kFault, 10), ElementsAre(kAsks));
  EXPECT_THAT(pair.job.handle(OutputFailed{"cannot write stdout: No space left on device", 1}, at(11)), IsEmpty());
  EXPECT_EQ(pair.job.deadline(), at(12));
  EXPECT_EQ(pair.job.outcome().cause, Cause::rank_failed);
  EXPECT_EQ(pair.job.outcome().detail, "");
}

/// Rank 1 gets SIGSEGV because rank 0 of another host ended; then that host reports the TERM that ended rank 0.
TEST(Fault, SignalFromOutsideThatEndedTheFirstRankIsTheCause) {
  Job job({}, {0, 1}, {"node1", "node2"}, at(0));
  job.show_stacks_first();
  for (const int host : {0, 1}) job.handle(HostReady{host}, at(0));
  for (const int rank : {0, 1}) job.handle(RankStarted{rank, 100 + rank, 1, ""}, at(0));
  constexpr std::int64_t kSecond = 1'000'000'000;
  EXPECT_THAT(job.handle(RankEnded{1, kFault, 10 * kSecond}, at(10)), ElementsAre(kAsks));
  job.handle(RankEnded{0, ExitStatus(Signaled{SIGTERM}), 9 * kSecond}, at(10));
  job.handle(HostTermination{SIGTERM, 9 * kSecond, "node1 received a termination signal", 0}, at(10));
  EXPECT_EQ(job.outcome().cause, Cause::interrupted);
  EXPECT_EQ(job.outcome().exit_code, 128 + SIGTERM);
}

TEST(Fault, NoticeDuringThePrintOfStacksSavesNothing) {
  Policy policy;
  policy.checkpoint.signal = SIGUSR2;
  Pair pair(policy);
  EXPECT_THAT(pair.ends(1, kFault, 10), ElementsAre(kAsks));
  EXPECT_THAT(pair.job.handle(UserSignal{SIGUSR1}, at(11)), IsEmpty());
  EXPECT_FALSE(pair.job.saves());
  EXPECT_THAT(pair.job.tick(at(12)), Contains(Action(SignalRanks{SIGTERM})));
  EXPECT_EQ(pair.job.outcome().cause, Cause::rank_failed);
}

TEST(Fault, IsRecognizedInTheExitCodeOfAShell) {
  Pair pair;
  EXPECT_THAT(pair.ends(1, ExitStatus(Exited{128 + SIGABRT}), 10),
              ElementsAre(Action(TakeStacks{"rank 1 exited with code 134"})));
}

TEST(Fault, FailuresWithoutAFaultStopAllRanksAtOnce) {
  for (const ExitStatus& status : {ExitStatus(Exited{3}), ExitStatus(Signaled{SIGKILL}), ExitStatus(Signaled{SIGTERM}),
                                   ExitStatus(Lost{"gone"})}) {
    Pair pair;
    EXPECT_THAT(pair.ends(1, status, 10), Contains(Action(SignalRanks{SIGTERM}))) << status.describe();
  }
}

TEST(Fault, DoesNotWaitForStacksIfARoundMayFollow) {
  Pair pair({}, true);
  EXPECT_THAT(pair.ends(1, kFault, 10), Contains(Action(SignalRanks{SIGTERM})));
}

TEST(Fault, RanksContinueWithOnFailureContinue) {
  Policy goes_on;
  goes_on.abort_on_failure = false;
  Pair pair(goes_on);
  EXPECT_THAT(pair.ends(1, kFault, 10), IsEmpty());
}

TEST(Fault, EventsWhileWaitingDoNotChangeTheCause) {
  Policy limited;
  limited.timeout = seconds(11);
  Pair late(limited);
  late.ends(1, kFault, 10);
  EXPECT_THAT(late.job.tick(at(11)), Contains(Action(SignalRanks{SIGTERM})));
  EXPECT_EQ(late.job.outcome().exit_code, 128 + SIGSEGV);

  Pair interrupted;
  interrupted.ends(1, kFault, 10);
  EXPECT_THAT(interrupted.job.handle(UserSignal{SIGINT}, at(11)), Contains(Action(SignalRanks{SIGINT})));
  EXPECT_EQ(interrupted.job.outcome().cause, Cause::rank_failed);
  EXPECT_EQ(interrupted.job.outcome().exit_code, 128 + SIGSEGV);
}

TEST(Fault, JobEndsIfTheOtherRanksEndWhileWaiting) {
  for (const ExitStatus& status : {ExitStatus(), ExitStatus(Exited{3}), kFault}) {
    Pair pair;
    pair.ends(1, kFault, 10);
    EXPECT_THAT(pair.ends(0, status, 11), IsEmpty());
    pair.job.handle(RankDrained{1}, at(11));
    EXPECT_THAT(pair.job.handle(RankDrained{0}, at(11)), Contains(Action(FinishHost{0})));
    EXPECT_EQ(pair.job.outcome().cause, Cause::rank_failed);
    EXPECT_EQ(pair.job.outcome().exit_code, 128 + SIGSEGV);
    EXPECT_THAT(pair.job.tick(at(12)), IsEmpty());
  }
}

TEST(Fault, FaultOfTheLastRankTakesNoStacks) {
  Pair pair;
  pair.ends(0, ExitStatus(), 9);
  pair.ends(1, kFault, 10);
  EXPECT_EQ(pair.job.phase(), Phase::ending);
}

}  // namespace
}  // namespace dlaunch::job
