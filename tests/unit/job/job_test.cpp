#include "job/job.h"

#include <gmock/gmock.h>

#include <cerrno>
#include <csignal>
#include <functional>

namespace dlaunch::job {
namespace {

using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::SizeIs;

/// A job of `ranks` on one host (or one host per rank). Events have times in seconds from its start.
class Script {
 public:
  explicit Script(int ranks, Policy policy = {}, bool host_each = false)
      : ranks_(ranks), job(policy, placed(ranks, host_each), names(host_each ? ranks : 1), at(0)) {}

  static Time at(double s) { return Time{} + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(s)); }
  Actions say(const Event& event, double s) { return job.handle(event, at(s)); }
  Actions tick(double s) { return job.tick(at(s)); }
  /// A frame of the host that confirms all messages.
  void answer(int host, double s) { job.host_heard(host, at(s), at(s)); }
  /// A frame of the host that was sent before it received a message of the launcher.
  void hear(int host, double s) { job.host_heard(host, at(s), Time::min()); }

  /// All hosts are ready and all ranks start at 0.
  void start(int hosts = 1) {
    for (int host = 0; host < hosts; ++host) say(HostReady{host}, 0);
    for (int rank = 0; rank < ranks_; ++rank) say(RankStarted{rank, 100 + rank, 1, ""}, 0);
  }
  Actions end(int rank, ExitStatus status, double s) {
    Actions all = say(RankEnded{rank, status, static_cast<std::int64_t>(s * 1e9)}, s);
    for (Action& action : say(RankDrained{rank}, s)) all.push_back(action);
    return all;
  }
  void end_all(ExitStatus status, double s) {
    for (int rank = 0; rank < ranks_; ++rank) {
      if (!job.outcome().ranks[static_cast<size_t>(rank)].status) end(rank, status, s);
    }
  }
  double deadline() const {
    return job.deadline() ? std::chrono::duration<double>(*job.deadline() - at(0)).count() : -1;
  }

 private:
  static std::vector<int> placed(int ranks, bool host_each) {
    std::vector<int> hosts;
    for (int rank = 0; rank < ranks; ++rank) hosts.push_back(host_each ? rank : 0);
    return hosts;
  }
  static std::vector<std::string> names(int hosts) {
    std::vector<std::string> names;
    for (int host = 0; host < hosts; ++host) names.push_back("node" + std::to_string(host));
    return names;
  }
  const int ranks_;

 public:
  Job job;
};

Policy timeout_of(int time) {
  Policy policy;
  policy.timeout = seconds(time);
  return policy;
}

const ExitStatus kOk = ExitStatus(Exited{0});
const ExitStatus kTermed = ExitStatus(Signaled{SIGTERM, false, false});

TEST(Job, SucceedsIfAllRanksExitWithZero) {
  Script s(2);
  EXPECT_THAT(s.say(HostReady{0}, 0), ElementsAre(Action(StartRanks{0})));
  EXPECT_THAT(s.end(0, kOk, 1), IsEmpty());
  EXPECT_THAT(s.end(1, kOk, 1), ElementsAre(Action(FinishHost{0})));
  EXPECT_THAT(s.say(HostClean{0, {}}, 1), ElementsAre(Action(DropHost{0}), Action(Finished{})));
  EXPECT_EQ(s.job.outcome().exit_code, 0);
  EXPECT_EQ(s.job.outcome().cause, Cause::success);
  EXPECT_FALSE(s.job.deadline());
}

/// The seconds from the start of the script to the cause.
double cause_at(const Script& s) {
  const auto& at = s.job.outcome().cause_at;
  return at ? std::chrono::duration<double>(*at - Script::at(0)).count() : -1;
}

TEST(Job, CauseHasTheTimeOfItsEvent) {
  const auto ended = [](const std::function<void(Script&)>& event, const Policy& policy) {
    Script s(2, policy, true);
    s.start(2);
    event(s);
    s.end_all(kTermed, 9);
    s.say(RankDrained{1}, 9);
    for (const int host : {0, 1}) s.say(HostClean{host, {}}, 10);
    s.say(HostSwept{1, ""}, 10);
    EXPECT_EQ(s.job.outcome().ended_at, Script::at(10));
    return cause_at(s);
  };
  EXPECT_EQ(ended([](Script& s) { s.say(UserSignal{SIGINT}, 2); }, {}), 2);
  EXPECT_EQ(ended([](Script& s) { s.tick(5); }, timeout_of(5)), 5);
  EXPECT_EQ(ended([](Script& s) { s.say(HostLost{1, "silence"}, 3); }, {}), 3);
  EXPECT_EQ(ended([](Script& s) { s.end(0, ExitStatus(Exited{3}), 4); }, {}), 4);
  EXPECT_EQ(ended([](Script& s) { s.say(OutputFailed{"full", 1}, 6); }, {}), 6);
  EXPECT_EQ(ended([](Script&) {}, {}), 9) << "no other event: TERM from outside is a failure";
}

TEST(Job, TimeLimitIsTheCauseWhileStacksAreTaken) {
  Script s(1, timeout_of(5));
  s.job.show_stacks_first();
  s.start();
  s.tick(5);
  s.tick(7);
  EXPECT_EQ(s.job.outcome().cause, Cause::timeout);
  EXPECT_EQ(cause_at(s), 5);
}

TEST(Job, TimeLimitHasItsOwnTimeIfTheLauncherNoticesItLate) {
  Script s(1, timeout_of(5));
  s.start();
  s.tick(9);
  EXPECT_EQ(cause_at(s), 5);
}

TEST(Job, FirstFailureKeepsItsTimeIfTheOthersContinue) {
  Policy policy;
  policy.abort_on_failure = false;
  Script s(3, policy);
  s.start();
  s.end(0, ExitStatus(Exited{3}), 2);
  s.end(1, ExitStatus(Exited{4}), 4);
  EXPECT_EQ(cause_at(s), 2);
  s.say(UserSignal{SIGINT}, 6);
  EXPECT_EQ(cause_at(s), 6) << "the signal ended the job";
}

TEST(Job, SuccessHasNoCauseAndNoTimeOfACause) {
  Script s(1);
  s.start();
  s.end(0, kOk, 1);
  EXPECT_FALSE(s.job.outcome().ended_at);
  s.say(HostClean{0, {}}, 2);
  EXPECT_FALSE(s.job.outcome().cause_at);
  EXPECT_EQ(s.job.outcome().ended_at, Script::at(2));
}

TEST(Job, StartsRanksWhenAllHostsAreReady) {
  Script s(2, {}, true);
  EXPECT_THAT(s.say(HostReady{1}, 0), IsEmpty());
  EXPECT_THAT(s.say(HostReady{0}, 0), ElementsAre(Action(StartRanks{0}), Action(StartRanks{1})));
}

TEST(Job, HostWithoutAnAnswerEndsTheJobBeforeTheStart) {
  Script s(2, {}, true);
  s.say(HostReady{0}, 0);
  EXPECT_THAT(s.say(HostLost{1, "no agent answered within 30 s"}, 30), Contains(Action(FinishHost{0})));
  s.say(HostClean{0, {}}, 30);
  EXPECT_EQ(s.job.phase(), Phase::finished);
  EXPECT_EQ(s.job.outcome().exit_code, 125);
  EXPECT_EQ(s.job.outcome().detail, "node1: no agent answered within 30 s");
}

TEST(Job, EndsBeforeTheStartIfARankCannotStart) {
  Script s(3);
  s.job.expect_files();
  EXPECT_THAT(s.say(HostReady{0}, 0), Contains(Action(PrepareFiles{})));
  const ExitStatus missing(NotStarted{ENOENT, "cannot execute ./x"});
  EXPECT_THAT(s.say(StartRefused{{{1, missing, 5}, {2, missing, 5}}}, 1), ElementsAre(Action(FinishHost{0})));
  EXPECT_EQ(s.job.outcome().cause, Cause::rank_failed);
  EXPECT_EQ(s.job.outcome().exit_code, 127);
  EXPECT_EQ(s.job.outcome().first_failure, 1);
  EXPECT_EQ(s.job.outcome().ranks[2].status, missing);
  EXPECT_FALSE(s.job.outcome().started_at);
  s.say(HostClean{0, {}}, 1);
  EXPECT_EQ(s.job.outcome().ended_at, Script::at(1));
}

TEST(Job, ReportsUnusableHostsTogether) {
  Script s(4, {}, true);
  EXPECT_THAT(s.say(HostLost{1, "refused", "start sshd"}, 0), IsEmpty());
  s.say(RankDrained{1}, 0);
  EXPECT_THAT(s.say(HostReady{0}, 0), IsEmpty());
  EXPECT_THAT(s.say(HostLost{3, "refused", "start sshd"}, 1), IsEmpty());
  s.say(RankDrained{3}, 1);
  EXPECT_THAT(s.say(HostReady{2}, 2), IsSupersetOf({Action(FinishHost{0}), Action(FinishHost{2})}));
  ASSERT_EQ(s.job.outcome().lost_hosts.size(), 2);
  EXPECT_EQ(s.job.outcome().lost_hosts[1].name, "node3");
  s.say(HostClean{0, {}}, 2);
  EXPECT_THAT(s.say(HostClean{2, {}}, 2), Contains(Action(Finished{})));
  EXPECT_EQ(s.job.outcome().exit_code, 125);
}

TEST(Job, ConnectedHostsThatAreNotReadyConfirmTheEnd) {
  Script s(2, timeout_of(4), true);
  s.say(HostReached{1}, 0);
  EXPECT_THAT(s.tick(4), ElementsAre(Action(DropHost{0}), Action(FinishHost{1})));
  s.say(HostClean{1, {"pid 7 (dlaunch-files), state D"}}, 5);
  EXPECT_EQ(s.job.phase(), Phase::finished);
  EXPECT_THAT(s.job.outcome().leftovers, ElementsAre("node1: pid 7 (dlaunch-files), state D"));
}

TEST(Job, SetsADeadlineForTheOtherHostsAfterALoss) {
  Script s(3, {}, true);
  s.say(HostReady{0}, 0);
  s.say(HostLost{1, "refused"}, 1);
  EXPECT_THAT(s.tick(1 + kOthersWait.count()), IsSupersetOf({Action(FinishHost{0}), Action(DropHost{2})}));
  ASSERT_EQ(s.job.outcome().lost_hosts.size(), 2);
  EXPECT_EQ(s.job.outcome().lost_hosts[1].why, "its agent was not ready 5 s after another host failed");
  EXPECT_EQ(cause_at(s), 1) << "the time of the loss, not of the decision";
}

TEST(Job, GivesTheOtherHostsTheWholeTimeAfterAStopOfTheLauncher) {
  Script s(2, {}, true);
  s.say(HostLost{0, "refused"}, 1);
  s.say(UserSignal{SIGTSTP}, 2);
  s.say(UserSignal{SIGCONT}, 60);
  EXPECT_EQ(s.deadline(), 60 + kOthersWait.count());
  s.say(HostReady{1}, 61);
  EXPECT_EQ(s.job.outcome().lost_hosts.size(), 1);
}

TEST(Job, KeepsWaitingWhileAHostDeliversOutput) {
  Script s(1);
  s.start();
  s.say(UserSignal{SIGINT}, 1);
  s.tick(6);  // KILL
  s.hear(0, 10);
  s.job.output_arrived(s.at(10));
  EXPECT_THAT(s.tick(6 + kKillWait.count()), IsEmpty());
  EXPECT_DOUBLE_EQ(s.deadline(), 10 + kKillWait.count());
  EXPECT_EQ(s.job.phase(), Phase::ending);
  s.end(0, kTermed, 12);
  EXPECT_THAT(s.job.outcome().leftovers, IsEmpty());
}

TEST(Job, ProgressListsMissingHosts) {
  Script s(3, {}, true);
  s.say(HostReady{1}, 0);
  EXPECT_THAT(s.job.progress().missing_hosts, ElementsAre("node0", "node2"));
}

TEST(Job, FirstFailureSendsTermThenKillAndSetsTheExitCode) {
  Script s(3);
  s.start();
  EXPECT_THAT(s.end(1, ExitStatus(Exited{7}), 2),
              ElementsAre(Action(SignalRanks{SIGTERM}), Action(SignalRanks{SIGCONT})));
  s.end(0, kTermed, 2.1);
  EXPECT_EQ(s.deadline(), 7);
  EXPECT_THAT(s.tick(6.9), IsEmpty());
  EXPECT_THAT(s.tick(7), ElementsAre(Action(SignalRanks{SIGKILL})));
  EXPECT_THAT(s.end(2, ExitStatus(Signaled{SIGKILL, false, false}), 7.1), ElementsAre(Action(FinishHost{0})));
  s.say(HostClean{0, {}}, 7.2);
  const Outcome& outcome = s.job.outcome();
  EXPECT_EQ(outcome.exit_code, 7);
  EXPECT_EQ(outcome.first_failure, 1);
  EXPECT_FALSE(outcome.ranks[1].ended_by_us);
  EXPECT_TRUE(outcome.ranks[0].ended_by_us);
  EXPECT_FALSE(outcome.ranks[0].needed_kill);
  EXPECT_TRUE(outcome.ranks[2].needed_kill);
}

TEST(Job, RankThatTermEndsNeedsNoKill) {
  Script s(2);
  s.start();
  s.say(UserSignal{SIGINT}, 1);
  s.say(UserSignal{SIGINT}, 1);
  s.end(0, kTermed, 1.1);
  s.end(1, ExitStatus(Signaled{SIGKILL, false, false}), 1.1);
  EXPECT_FALSE(s.job.outcome().ranks[0].needed_kill);
  EXPECT_TRUE(s.job.outcome().ranks[1].needed_kill);
}

/// The launcher was stopped, and handles the user's signal before the ends of the ranks.
TEST(Job, RankThatEndedByItselfBeforeTheSignalIsNotStopped) {
  Script s(3);
  s.start();
  s.say(UserSignal{SIGINT}, 9);
  EXPECT_FALSE(s.job.outcome().idle);
  s.end(0, kOk, 5);
  s.end(1, ExitStatus(Exited{7}), 5);
  s.say(RankEnded{2, kOk, 10, {}, true}, 10);
  EXPECT_FALSE(s.job.outcome().ranks[0].ended_by_us);
  EXPECT_FALSE(s.job.outcome().ranks[1].ended_by_us);
  EXPECT_TRUE(s.job.outcome().ranks[2].ended_by_us) << "after the signal";
  EXPECT_EQ(s.job.outcome().exit_code, 130);
}

/// A terminal sends INT to the ranks, too. ALRM and XCPU are a rank's own, unless the job also received this signal.
TEST(Job, OwnAlarmOfARankShortlyBeforeTheSignalIsNotAStop) {
  for (const int signal : {SIGINT, SIGALRM, SIGXCPU}) {
    Script s(3);
    s.start();
    s.say(UserSignal{signal}, 9);
    s.end(0, ExitStatus(Signaled{SIGINT}), 8.5);
    s.end(1, ExitStatus(Signaled{SIGALRM}), 8.5);
    s.end(2, ExitStatus(Exited{128 + SIGXCPU}), 8.5);
    EXPECT_TRUE(s.job.outcome().ranks[0].ended_by_us);
    EXPECT_EQ(s.job.outcome().ranks[1].ended_by_us, signal == SIGALRM);
    EXPECT_EQ(s.job.outcome().ranks[2].ended_by_us, signal == SIGXCPU);
  }
}

TEST(Job, IsIdleIfNoRankRunsWhenTheJobBeginsToEnd) {
  Script starting(1);
  starting.say(UserSignal{SIGINT}, 1);
  EXPECT_TRUE(starting.job.outcome().idle);
  Script undrained(1);
  undrained.start();
  undrained.say(RankEnded{0, kOk, 1}, 1);
  undrained.say(UserSignal{SIGINT}, 2);
  EXPECT_TRUE(undrained.job.outcome().idle);
}

/// The user's third signal ends the wait for a host that has not answered since the first.
TEST(Job, SilentHostGivenUpLeavesTheStartUnknown) {
  Script s(2, {}, true);
  for (const int host : {0, 1}) s.say(HostReady{host}, 0);
  s.say(UserSignal{SIGINT}, 1);
  s.answer(0, 1.1);
  s.say(UserSignal{SIGINT}, 1.2);
  s.say(UserSignal{SIGINT}, 1.3);
  EXPECT_FALSE(s.job.outcome().ranks[0].unheard);
  EXPECT_TRUE(s.job.outcome().ranks[1].unheard);
}

TEST(Job, OutputThatArrivesAfterTheWaitIsNotMissing) {
  Script s(1);
  s.start();
  s.say(UserSignal{SIGTERM}, 1);
  s.say(RankEnded{0, kTermed, 2}, 2);  // a daemon holds the pipe until it is killed
  EXPECT_THAT(s.tick(7), ElementsAre(Action(FinishHost{0})));
  EXPECT_TRUE(s.job.outcome().unread);
  s.say(RankDrained{0}, 8);
  s.say(HostClean{0, {}}, 8);
  EXPECT_FALSE(s.job.outcome().unread);
}

TEST(Job, EarlierFailureReportedLaterIsTheFirst) {
  Script s(2, {}, true);
  s.start(2);
  s.say(RankEnded{0, ExitStatus(Exited{5}), 2'000}, 2);
  s.say(RankEnded{1, ExitStatus(Exited{9}), 1'000}, 2);
  EXPECT_EQ(s.job.outcome().first_failure, 1);
  EXPECT_EQ(s.job.outcome().exit_code, 9);
  EXPECT_FALSE(s.job.outcome().ranks[1].ended_by_us);
}

TEST(Job, OnFailureContinueKeepsTheFirstExitCode) {
  Policy policy;
  policy.abort_on_failure = false;
  Script s(3, policy);
  s.start();
  EXPECT_THAT(s.end(2, ExitStatus(Exited{4}), 1), IsEmpty());
  EXPECT_THAT(s.end(1, ExitStatus(Exited{6}), 2), IsEmpty());
  EXPECT_THAT(s.end(0, kOk, 3), ElementsAre(Action(FinishHost{0})));
  EXPECT_EQ(s.job.outcome().exit_code, 4);
  EXPECT_EQ(s.job.outcome().first_failure, 2);
}

TEST(Job, FirstCtrlCForwardsSecondKillsThirdExits) {
  Script s(2);
  s.start();
  EXPECT_THAT(s.say(UserSignal{SIGINT}, 1), ElementsAre(Action(SignalRanks{SIGINT}), Action(SignalRanks{SIGCONT})));
  EXPECT_THAT(s.say(UserSignal{SIGINT}, 2), ElementsAre(Action(SignalRanks{SIGKILL})));
  EXPECT_THAT(s.say(UserSignal{SIGINT}, 3),
              ElementsAre(Action(DropHost{0}), Action(Finished{}), Action(StopWaiting{})));
  EXPECT_EQ(s.job.outcome().exit_code, 130);
  EXPECT_THAT(s.job.outcome().leftovers,
              ElementsAre("node0: the agent did not confirm in time that all processes ended"));
}

/// Both signals arrive before the job waits for the reader, so the second signal cannot end this wait.
TEST(Job, TwoImmediateCtrlCWaitForTheReaderWithADeadline) {
  Script s(1, {}, true);
  s.start(1);
  s.say(UserSignal{SIGINT}, 1);
  s.say(UserSignal{SIGINT}, 1);
  s.say(RankEnded{0, kTermed, 1}, 1.1);
  ASSERT_EQ(s.deadline(), 6.1);
  EXPECT_THAT(s.tick(6.1), ElementsAre(Action(FinishHost{0})));
  s.say(HostClean{0, {}}, 6.2);
  EXPECT_EQ(s.job.phase(), Phase::finished);
  EXPECT_EQ(s.job.outcome().exit_code, 130);
  EXPECT_TRUE(s.job.outcome().unread);
}

TEST(Job, CtrlCDuringCleanupKillsAndKeepsTheOutcome) {
  Script s(1);
  s.start();
  s.end(0, kOk, 1);
  EXPECT_THAT(s.say(UserSignal{SIGINT}, 2), ElementsAre(Action(SignalRanks{SIGKILL})));
  EXPECT_EQ(s.deadline(), 12);
  EXPECT_THAT(s.say(HostClean{0, {}}, 3), ElementsAre(Action(DropHost{0}), Action(Finished{}), Action(StopWaiting{})));
  EXPECT_EQ(s.job.outcome().exit_code, 0);
}

TEST(Job, TerminatingSignalsHaveExitCodesOfTheShell) {
  for (const int signal : {SIGTERM, SIGHUP, SIGINT, SIGXCPU, SIGALRM}) {
    Script s(1);
    s.start();
    s.say(UserSignal{signal}, 1);
    s.end(0, ExitStatus(Signaled{signal, false, false}), 1.1);
    s.say(HostClean{0, {}}, 1.2);
    EXPECT_EQ(s.job.phase(), Phase::finished);
    EXPECT_EQ(s.job.outcome().exit_code, 128 + signal);
    EXPECT_TRUE(s.job.outcome().ranks[0].ended_by_us);
    EXPECT_FALSE(s.job.outcome().first_failure);
  }
}

TEST(Job, SucceedsIfAllRanksHandleTheSignalAndExitWithZero) {
  for (const int signal : {SIGTERM, SIGINT}) {
    Script s(2);
    s.start();
    s.say(UserSignal{signal}, 1);
    s.end(0, kOk, 1.1);
    s.end(1, kOk, 1.2);
    s.say(HostClean{0, {}}, 1.3);
    EXPECT_EQ(s.job.outcome().cause, Cause::success);
    EXPECT_EQ(s.job.outcome().exit_code, 0);
    EXPECT_EQ(s.job.outcome().signal, 0);
  }
}

TEST(Job, IsInterruptedIfOneRankDoesNotExitWithZeroAfterTheSignal) {
  for (const ExitStatus& other : {ExitStatus(Exited{3}), ExitStatus(Signaled{SIGINT}), ExitStatus(Signaled{SIGKILL})}) {
    Script s(2);
    s.start();
    s.say(UserSignal{SIGINT}, 1);
    s.end(0, kOk, 1.1);
    s.end(1, other, 1.2);
    EXPECT_EQ(s.job.outcome().cause, Cause::interrupted);
    EXPECT_EQ(s.job.outcome().exit_code, 130);
  }
}

TEST(Job, OfABatchSystemIsInterruptedEvenIfAllRanksExitWithZero) {
  Policy policy;
  policy.in_batch_job = true;
  Script s(1, policy);
  s.start();
  s.say(UserSignal{SIGTERM}, 1);
  s.end(0, kOk, 1.1);
  EXPECT_EQ(s.job.outcome().cause, Cause::interrupted);
  EXPECT_EQ(s.job.outcome().exit_code, 143);
}

/// A batch system that ends a job did not let it finish, even if its ranks exit with 0.
TEST(Job, IsInterruptedByASignalToAHostEvenIfAllRanksExitWithZero) {
  Script s(1);
  s.start();
  s.say(HostTermination{SIGTERM, 1'000'000'000, "node0 received a termination signal"}, 1);
  s.end(0, kOk, 1.1);
  EXPECT_EQ(s.job.outcome().cause, Cause::interrupted);
  EXPECT_EQ(s.job.outcome().exit_code, 143);
}

TEST(Job, CtrlCWhileStartingEndsAtOnce) {
  Script s(1);
  EXPECT_THAT(s.say(UserSignal{SIGINT}, 0.1), ElementsAre(Action(DropHost{0}), Action(Finished{})));
  EXPECT_EQ(s.job.outcome().exit_code, 130);
}

TEST(Job, ForwardsOtherSignalsToRanks) {
  Script s(1);
  s.start();
  EXPECT_THAT(s.say(UserSignal{SIGUSR1}, 1), ElementsAre(Action(SignalRanks{SIGUSR1})));
  EXPECT_THAT(s.say(UserSignal{SIGTSTP}, 1), ElementsAre(Action(SignalRanks{SIGSTOP}), Action(StopSelf{})));
  EXPECT_THAT(s.say(UserSignal{SIGCONT}, 9), ElementsAre(Action(SignalRanks{SIGCONT})));
  EXPECT_EQ(s.job.phase(), Phase::running);
}

TEST(Job, TimeoutEndsWith124) {
  Script s(1, timeout_of(10));
  s.start();
  EXPECT_EQ(s.deadline(), 10);
  EXPECT_THAT(s.tick(10), Contains(Action(SignalRanks{SIGTERM})));
  s.end(0, kTermed, 10.1);
  s.say(HostClean{0, {}}, 10.2);
  EXPECT_EQ(s.job.outcome().exit_code, 124);
  EXPECT_EQ(s.job.outcome().cause, Cause::timeout);
}

TEST(Job, WaitAfterFirstStopsTheOtherRanks) {
  Policy policy;
  policy.abort_on_failure = false;
  policy.after_first = std::chrono::seconds(5);
  Script s(2, policy);
  s.start();
  EXPECT_LT(s.deadline(), 0) << "there is none";
  s.end(1, kOk, 3);
  EXPECT_EQ(s.deadline(), 8);
  EXPECT_THAT(s.tick(8), Contains(Action(SignalRanks{SIGTERM})));
  s.end(0, kTermed, 8.1);
  s.say(HostClean{0, {}}, 8.2);
  EXPECT_EQ(s.job.outcome().exit_code, 124);
  EXPECT_EQ(s.job.outcome().cause, Cause::timeout);
}

TEST(Job, FirstFailedRankIsTheCauseOfTheOtherEnds) {
  Policy policy;
  policy.abort_on_failure = false;
  policy.after_first = std::chrono::seconds(5);
  Script s(2, policy);
  s.start();
  s.end(1, ExitStatus(Exited{7}), 3);
  EXPECT_THAT(s.tick(8), Contains(Action(SignalRanks{SIGTERM})));
  s.end(0, kTermed, 8.1);
  s.say(HostClean{0, {}}, 8.2);
  EXPECT_EQ(s.job.outcome().exit_code, 7);
  EXPECT_EQ(s.job.outcome().cause, Cause::rank_failed);
}

TEST(Job, EndAfterTheFirstRankAllowsARestartIfARankFailed) {
  Policy policy;
  policy.abort_on_failure = false;
  policy.after_first = std::chrono::seconds(5);
  for (const int code : {0, 7}) {
    Script s(2, policy);
    s.job.allow_restart();
    s.start();
    s.end(1, ExitStatus(Exited{code}), 3);
    s.tick(8);
    s.end(0, kTermed, 8.1);
    s.say(HostClean{0, {}}, 8.2);
    EXPECT_EQ(s.job.outcome().may_restart, code != 0);
  }
}

TEST(Job, LostHostLosesItsRanksAndEndsTheOthers) {
  Script s(2, {}, true);
  s.start(2);
  EXPECT_THAT(s.say(HostLost{1, "its agent fell silent"}, 5), Contains(Action(SignalRanks{SIGTERM})));
  s.say(RankDrained{1}, 5);
  s.end(0, kTermed, 5.1);
  s.say(HostClean{0, {}}, 5.2);
  EXPECT_THAT(s.say(HostSwept{1, "", {}}, 5.3), ElementsAre(Action(Finished{})));
  EXPECT_EQ(s.job.outcome().exit_code, 125);
  EXPECT_EQ(s.job.outcome().detail, "node1: its agent fell silent");
  EXPECT_EQ(s.job.outcome().ranks[1].status, ExitStatus(Lost{"its agent fell silent"}));
}

TEST(Job, RankOfAHostThatIsLostWhileTheJobEndsIsNotStopped) {
  Script s(1, {}, true);
  s.start();
  s.say(UserSignal{SIGTERM}, 1);
  s.say(HostLost{0, "its agent fell silent"}, 9);
  EXPECT_EQ(s.job.outcome().ranks[0].status, ExitStatus(Lost{"its agent fell silent"}));
  EXPECT_FALSE(s.job.outcome().ranks[0].ended_by_us);
}

TEST(Job, RankOfAHostWithoutStartRequestIsNotLost) {
  Script s(2, {}, true);
  s.say(HostReady{0}, 0);
  s.say(HostLost{1, "refused"}, 1);
  s.say(HostLost{0, "closed"}, 2);
  EXPECT_FALSE(s.job.outcome().ranks[0].status);
}

HostTermination told(double s) { return {SIGTERM, static_cast<std::int64_t>(s * 1e9), "Slurm job 5 was cancelled"}; }

Policy killed_after(double kill_wait, int grace) {
  Policy policy;
  policy.grace = seconds(grace);
  policy.manager_kill_wait = std::chrono::milliseconds(static_cast<int>(kill_wait * 1000));
  return policy;
}

TEST(Job, KillsRanksBeforeTheManagerDoes) {
  for (const auto& [kill_wait, grace, killed] : std::vector<std::tuple<double, int, double>>{
           {2, 5, 1}, {5, 5, 3.75}, {30, 60, 25}, {30, 5, 5}, {1, 5, 0.5}, {0, 5, 0}}) {
    Script s(1, killed_after(kill_wait, grace));
    s.start(1);
    s.say(told(3), 3);
    EXPECT_DOUBLE_EQ(s.deadline(), 3 + killed) << kill_wait;
    EXPECT_EQ(s.job.progress().kill_at, Script::at(3 + killed));
    s.say(told(3.2), 3.2);
    EXPECT_DOUBLE_EQ(s.deadline(), 3 + killed) << "a repeated signal does not delay the manager";
    EXPECT_THAT(s.tick(3 + killed), ElementsAre(Action(SignalRanks{SIGKILL})));
  }
}

TEST(Job, KillsRanksBeforeTheManagerIfTheLauncherGotTheSignalFirst) {
  Script s(1, killed_after(5, 60));
  s.start(1);
  s.say(UserSignal{SIGTERM}, 2.5);
  EXPECT_DOUBLE_EQ(s.deadline(), 62.5) << "the signal may come from a user";
  s.say(told(3), 3);
  EXPECT_DOUBLE_EQ(s.deadline(), 6.75);
}

TEST(Job, KillsProcessesThatRanksLeftBeforeTheManagerDoes) {
  Script s(1, killed_after(5, 60));
  s.start(1);
  s.say(told(3), 3);
  s.end(0, kTermed, 3.1);
  s.say(RankDrained{0}, 3.1);
  EXPECT_DOUBLE_EQ(s.deadline(), 6.75);
  EXPECT_THAT(s.tick(6.75), ElementsAre(Action(SignalRanks{SIGKILL})));
  EXPECT_THAT(s.say(HostClean{0, {}}, 7), ElementsAre(Action(DropHost{0}), Action(Finished{})));
}

TEST(Job, InterruptAndHangupKeepTheGrace) {
  for (const int signal : {SIGINT, SIGHUP}) {
    Script s(1, killed_after(5, 60));
    s.start(1);
    s.say(HostTermination{signal, 3'000'000'000, "node0 received a termination signal"}, 3);
    EXPECT_DOUBLE_EQ(s.deadline(), 63) << signal;
  }
}

TEST(Job, DoesNotCallAHostSweptIfTheManagerEndsItsProcesses) {
  Script s(1);
  s.start(1);
  s.say(HostLost{0, "closed"}, 2);
  s.say(RankDrained{0}, 2);
  EXPECT_THAT(s.say(HostSwept{0, "", {}, true}, 3), Contains(Action(Finished{})));
  EXPECT_THAT(s.job.outcome().swept, IsEmpty());
  EXPECT_THAT(s.job.outcome().unswept, IsEmpty());
  EXPECT_THAT(s.job.outcome().ended_by_manager, ElementsAre(0));
}

TEST(Job, SweepHasMoreTimeAfterAStopOfTheLauncher) {
  Script s(1);
  s.start(1);
  s.say(HostLost{0, "closed"}, 2);
  s.say(RankDrained{0}, 2);
  EXPECT_EQ(s.deadline(), 22);
  s.say(SweepDelayed{}, 40);
  EXPECT_THAT(s.tick(40), IsEmpty());
  EXPECT_EQ(s.deadline(), 60);
  EXPECT_THAT(s.say(HostSwept{0, ""}, 42), ElementsAre(Action(Finished{})));
  EXPECT_THAT(s.job.outcome().leftovers, IsEmpty());
}

TEST(Job, SignalToAHostEndsTheJobLikeASignalToTheLauncher) {
  Script s(2, {}, true);
  s.start(2);
  EXPECT_THAT(s.say(told(5), 5), Contains(Action(SignalRanks{SIGTERM})));
  s.say(UserSignal{SIGTERM}, 5.1);  // of the same end
  EXPECT_EQ(s.deadline(), 10) << "the grace goes on";
  s.end_all(kTermed, 5.2);
  EXPECT_EQ(s.job.outcome().cause, Cause::interrupted);
  EXPECT_EQ(s.job.outcome().exit_code, 143);
  EXPECT_EQ(s.job.outcome().detail, "Slurm job 5 was cancelled");
  EXPECT_FALSE(s.job.outcome().first_failure);
}

TEST(Job, SecondSignalKillsAlsoAfterASignalToAHost) {
  Script s(2, {}, true);
  s.start(2);
  s.say(told(5), 5);
  s.say(UserSignal{SIGTERM}, 5.1);
  EXPECT_THAT(s.say(UserSignal{SIGTERM}, 5.2), Contains(Action(SignalRanks{SIGKILL})));
}

TEST(Job, SignalToAHostAfterTheLauncherNamesTheSender) {
  Script s(1);
  s.start();
  s.say(UserSignal{SIGTERM}, 5);
  EXPECT_THAT(s.say(told(5), 5.1), IsEmpty());
  EXPECT_EQ(s.job.outcome().detail, "Slurm job 5 was cancelled");
}

/// The batch system kills the ranks, and the agent's report of SIGKILL arrives after the ends of these ranks.
TEST(Job, RanksKilledByTheBatchSystemAreNotFailures) {
  const ExitStatus killed = ExitStatus(Signaled{SIGKILL, false, false});
  const HostTermination kill{SIGKILL, 4'000'000'000, "Slurm job 5 was cancelled"};
  Script s(2, {}, true);
  s.start(2);
  s.end(1, killed, 5);
  s.say(kill, 5.2);
  s.end(0, killed, 5.3);
  EXPECT_EQ(s.job.outcome().cause, Cause::interrupted);
  EXPECT_EQ(s.job.outcome().exit_code, 143);
  EXPECT_EQ(s.job.outcome().detail, "Slurm job 5 was cancelled");
  EXPECT_FALSE(s.job.outcome().first_failure);
}

TEST(Job, FailureBeforeAManagerKilledTheHostIsTheCause) {
  Script s(2, {}, true);
  s.start(2);
  s.end(1, ExitStatus(Exited{3}), 5);
  s.say(HostTermination{SIGKILL, 4'000'000'000, "Slurm job 5 was cancelled"}, 5.2);
  EXPECT_EQ(s.job.outcome().cause, Cause::rank_failed);
  EXPECT_EQ(s.job.outcome().exit_code, 3);
}

/// A manager sends TERM to ranks and agents alike. The ends of ranks may arrive first.
TEST(Job, RanksEndedShortlyBeforeTheReportedSignalAreNotFailures) {
  Script s(3, {}, true);
  s.start(3);
  s.end(1, kTermed, 5);
  s.end(2, ExitStatus(Exited{1}), 5.1);  // its peer has ended
  s.say(told(5.2), 5.2);
  s.end(0, kTermed, 5.3);
  const Outcome& outcome = s.job.outcome();
  EXPECT_EQ(outcome.cause, Cause::interrupted);
  EXPECT_EQ(outcome.exit_code, 143);
  EXPECT_FALSE(outcome.first_failure);
  EXPECT_TRUE(outcome.ranks[0].ended_by_us);
  EXPECT_TRUE(outcome.ranks[1].ended_by_us);
  EXPECT_FALSE(outcome.ranks[2].ended_by_us) << "no signal ended this rank";
}

TEST(Job, FailureBeforeASignalToAHostStaysTheCause) {
  for (const auto& [status, at] : {std::pair(ExitStatus(Exited{7}), 5.0), std::pair(kTermed, 3.0)}) {
    Script s(2, {}, true);
    s.start(2);
    s.end(1, status, at);
    s.say(told(5.2), 5.2);
    EXPECT_EQ(s.job.outcome().cause, Cause::rank_failed);
    EXPECT_EQ(s.job.outcome().first_failure, 1);
    EXPECT_EQ(s.job.outcome().exit_code, status.shell_code());
  }
}

TEST(Job, SweepsAHostLostAfterFinish) {
  Script s(1);
  s.start();
  s.end(0, kOk, 1);
  EXPECT_THAT(s.say(HostLost{0, "closed"}, 2), ElementsAre(Action(SweepHost{0})));
  EXPECT_THAT(s.say(HostLost{0, "again"}, 2), IsEmpty());
  EXPECT_THAT(s.say(HostSwept{0, "", {}}, 3), ElementsAre(Action(Finished{})));
  EXPECT_EQ(s.job.outcome().exit_code, 0);
  EXPECT_THAT(s.job.outcome().leftovers, IsEmpty());
  EXPECT_THAT(s.job.outcome().swept, ElementsAre(0));
}

TEST(Job, NamesALostHostWithoutANewConnection) {
  Script s(1);
  s.start();
  EXPECT_THAT(s.say(HostLost{0, "closed"}, 2), ElementsAre(Action(SweepHost{0})));
  s.say(RankDrained{0}, 2);
  EXPECT_EQ(s.job.phase(), Phase::finishing);
  EXPECT_THAT(s.say(HostSwept{0, "no route", {}}, 3), ElementsAre(Action(Finished{})));
  EXPECT_THAT(s.job.outcome().leftovers, ElementsAre("node0: cannot connect again: no route"));
  ASSERT_EQ(s.job.outcome().unswept.size(), 1u);
  EXPECT_EQ(s.job.outcome().unswept[0].host, 0);
  EXPECT_THAT(s.job.outcome().swept, IsEmpty());
}

TEST(Job, NamesProcessesThatASweepCouldNotKill) {
  Script s(1);
  s.start();
  s.say(HostLost{0, "closed"}, 2);
  s.say(RankDrained{0}, 2);
  s.say(HostSwept{0, "", {"pid 7 (x), state D"}}, 3);
  EXPECT_EQ(s.job.phase(), Phase::finished);
  EXPECT_THAT(s.job.outcome().leftovers, ElementsAre("node0: pid 7 (x), state D"));
  EXPECT_THAT(s.job.outcome().unswept, IsEmpty());
}

TEST(Job, GivesUpAnEndlessSweep) {
  Policy policy;
  policy.grace = std::chrono::seconds(1);
  Script s(1, policy);
  s.start();
  s.say(HostLost{0, "closed"}, 2);
  s.say(RankDrained{0}, 2);
  EXPECT_DOUBLE_EQ(s.deadline(), 2 + 1 + kSweepWait.count());
  EXPECT_THAT(s.tick(s.deadline()), ElementsAre(Action(DropHost{0}), Action(Finished{})));
  EXPECT_EQ(s.job.outcome().unswept.size(), 1u);
}

TEST(Job, DoesNotSweepAHostLostBeforeItsRanksStart) {
  Script s(2, {}, true);
  s.say(HostReady{0}, 0);
  EXPECT_THAT(s.say(HostLost{1, "refused"}, 0), Contains(Action(FinishHost{0})));
  EXPECT_THAT(s.say(HostLost{0, "closed"}, 1), ElementsAre(Action(Finished{})));
}

TEST(Job, GivesUpAndReportsUnkillableRanks) {
  Script s(1);
  s.start();
  s.say(UserSignal{SIGTERM}, 0);
  s.tick(5);
  EXPECT_EQ(s.deadline(), 10);
  s.answer(0, 6);
  EXPECT_THAT(s.tick(10), ElementsAre(Action(PingHost{0}))) << "the host may have fallen silent after KILL";
  s.answer(0, 10.1);
  EXPECT_EQ(s.deadline(), 10.1);
  EXPECT_THAT(s.tick(10.1), ElementsAre(Action(FinishHost{0})));
  s.say(HostClean{0, {"pid 100 (x), state D"}}, 11);
  EXPECT_EQ(s.job.phase(), Phase::finished);
  EXPECT_THAT(s.job.outcome().leftovers, SizeIs(2));
  EXPECT_THAT(s.job.outcome().leftovers, Contains("node0: pid 100 (x), state D"));
}

TEST(Job, LosesAHostThatFallsSilentAfterItAnswersKill) {
  Script s(1);
  s.start();
  s.say(UserSignal{SIGTERM}, 0);
  s.tick(5);
  s.answer(0, 5.1);
  EXPECT_THAT(s.tick(10), ElementsAre(Action(PingHost{0})));
  EXPECT_THAT(s.tick(15), ElementsAre(Action(LoseHost{0, "the agent does not answer"})));
  EXPECT_THAT(s.say(HostLost{0, "the agent does not answer"}, 15), Contains(Action(SweepHost{0})));
  s.say(RankDrained{0}, 15);
  s.say(HostSwept{0, ""}, 16);
  EXPECT_THAT(s.job.outcome().leftovers, IsEmpty());
}

TEST(Job, DropsAHostWithoutConfirmationAtTheDeadline) {
  Script s(1);
  s.start();
  s.end(0, kOk, 1);
  EXPECT_EQ(s.deadline(), 16);
  s.answer(0, 2);
  EXPECT_THAT(s.tick(16), ElementsAre(Action(PingHost{0}))) << "the host may have fallen silent after Finish";
  s.answer(0, 17);
  EXPECT_THAT(s.tick(21), ElementsAre(Action(DropHost{0}), Action(Finished{})));
  EXPECT_EQ(s.job.outcome().exit_code, 0);
  EXPECT_THAT(s.job.outcome().leftovers, SizeIs(1));
}

const std::string kNoAnswer = "the agent does not answer";

TEST(Job, LosesAHostThatFallsSilentAfterItAnswersFinish) {
  Script s(1);
  s.start();
  s.end(0, kOk, 1);
  s.answer(0, 2);
  EXPECT_THAT(s.tick(16), ElementsAre(Action(PingHost{0})));
  EXPECT_THAT(s.tick(21), ElementsAre(Action(LoseHost{0, kNoAnswer})));
  EXPECT_THAT(s.say(HostLost{0, kNoAnswer}, 21), Contains(Action(SweepHost{0})));
}

TEST(Job, LosesAHostThatDoesNotAnswerKill) {
  Script s(3, {}, true);
  s.start(3);
  s.say(UserSignal{SIGTERM}, 1);
  s.end(0, kTermed, 1);
  for (int host = 0; host < 3; ++host) s.hear(host, 2);
  EXPECT_THAT(s.tick(6), ElementsAre(Action(SignalRanks{SIGKILL})));
  s.answer(1, 6.1);
  EXPECT_EQ(s.deadline(), 11);
  EXPECT_THAT(s.tick(11), ElementsAre(Action(LoseHost{2, kNoAnswer}), Action(PingHost{1})));
  EXPECT_EQ(s.job.phase(), Phase::ending);
  s.answer(1, 11.1);
  s.tick(11.1);
  EXPECT_THAT(s.say(HostLost{2, kNoAnswer}, 11), Contains(Action(SweepHost{2})));
  s.say(RankDrained{1}, 11);
  s.say(RankDrained{2}, 11);
  EXPECT_EQ(s.job.phase(), Phase::finishing);
  for (const int host : {0, 1}) s.say(HostClean{host, {}}, 12);
  s.say(HostSwept{2, ""}, 12);
  EXPECT_EQ(s.job.phase(), Phase::finished);
  EXPECT_THAT(s.job.outcome().leftovers, ElementsAre("node1: rank 1, pid 101, did not end after SIGKILL: the host may "
                                                     "need a reboot"));
  EXPECT_EQ(s.job.outcome().cause, Cause::interrupted);
}

/// A job that has given up its rank, because the rank did not end after KILL.
class JobOfAStuckRank : public testing::Test {
 protected:
  JobOfAStuckRank() {
    s.start();
    s.say(UserSignal{SIGTERM}, 1);
    s.tick(6);
    s.answer(0, 6.1);
    s.tick(11);
    s.answer(0, 11.1);
    s.tick(11.1);
    s.say(RankDrained{0}, 11.1);
    EXPECT_EQ(s.job.phase(), Phase::finishing);
  }
  Script s{1};
};

TEST_F(JobOfAStuckRank, DoesNotNameARankThatEndedBeforeItsHostConfirmed) {
  s.say(RankEnded{0, ExitStatus(Signaled{SIGKILL}), 0, {}, true}, 13);
  s.say(HostClean{0, {}}, 13);
  EXPECT_EQ(s.job.phase(), Phase::finished);
  EXPECT_THAT(s.job.outcome().leftovers, IsEmpty());
  EXPECT_TRUE(s.job.outcome().ranks[0].ended_by_us);
  EXPECT_TRUE(s.job.outcome().ranks[0].needed_kill);
}

TEST_F(JobOfAStuckRank, DoesNotNameARankWhoseHostWasSwept) {
  s.say(HostLost{0, "silence"}, 13);
  s.say(HostSwept{0, ""}, 14);
  EXPECT_EQ(s.job.phase(), Phase::finished);
  EXPECT_THAT(s.job.outcome().leftovers, IsEmpty());
}

TEST(Job, BlamesASilentHostThatIsLostWhileStacksArePrinted) {
  for (const double heard : {1.0, 6.0}) {
    Script s(2, {}, true);
    s.job.show_stacks_first();
    s.start(2);
    s.hear(1, heard);
    EXPECT_THAT(s.end(0, ExitStatus(Signaled{SIGSEGV}), 5), Contains(testing::VariantWith<TakeStacks>(testing::_)));
    s.say(HostLost{1, "silence"}, 6.5);
    EXPECT_EQ(s.job.outcome().cause, heard < 5 ? Cause::host_lost : Cause::rank_failed) << heard;
    EXPECT_EQ(s.job.outcome().exit_code, heard < 5 ? kExitHostLost : 139) << heard;
  }
}

/// Its children write without end.
TEST(Job, OutputDoesNotProlongTheWaitForAStuckRankForEver) {
  Script s(1);
  s.start();
  s.say(UserSignal{SIGTERM}, 0);
  s.tick(5);
  double given_up = 0;
  for (double t = 5.5; t < 100 && given_up == 0; t += 0.5) {
    s.answer(0, t);
    s.job.output_arrived(Script::at(t));
    s.tick(t);
    if (s.job.phase() != Phase::ending) given_up = t;
  }
  EXPECT_EQ(given_up, 5 + kReaderMost.count() + 0.5) << "the host is asked for a sign of life first";
}

TEST(Job, DoesNotCallARankStoppedThatEndedBeforeTheSignal) {
  Script s(3);
  s.start();
  s.end(0, ExitStatus(Exited{7}), 5);
  s.say(RankEnded{1, ExitStatus(Exited{7}), 2'000'000'000}, 5.1);
  s.say(RankEnded{2, ExitStatus(Exited{7}), 5'050'000'000, {}, true}, 5.1);
  EXPECT_FALSE(s.job.outcome().ranks[1].ended_by_us);
  EXPECT_TRUE(s.job.outcome().ranks[2].ended_by_us);
}

/// This process was stopped: the loss of the host comes before the deadline, although its time is later.
TEST(Job, AllowsNoRestartAfterTheTimeLimit) {
  for (const int limit : {5, 60}) {
    Script s(1, timeout_of(limit));
    s.job.allow_restart();
    s.start();
    s.say(RankDrained{0}, 20);
    s.say(HostLost{0, "silence"}, 20);
    EXPECT_EQ(s.job.outcome().may_restart, limit == 60);
    EXPECT_EQ(s.job.outcome().no_restart.empty(), limit == 60) << s.job.outcome().no_restart;
  }
}

TEST(Job, WaitsLongerForAHostThatSendsFramesButDoesNotConfirmKill) {
  Script s(1);
  s.start();
  s.say(UserSignal{SIGTERM}, 0);
  s.tick(5);
  s.hear(0, 5.001);
  EXPECT_THAT(s.tick(10), IsEmpty());
  s.hear(0, 10);
  EXPECT_THAT(s.tick(10.1), IsEmpty());
  EXPECT_THAT(s.tick(15), ElementsAre(Action(LoseHost{0, kNoAnswer})));
  EXPECT_THAT(s.job.outcome().leftovers, IsEmpty());
}

TEST(Job, LosesAHostThatConfirmsKillTooLateOrNever) {
  Script s(2, {}, true);
  s.start(2);
  s.say(UserSignal{SIGTERM}, 0);
  s.tick(5);
  for (double t = 6; t <= 5 + kConfirmWait.count(); t += 1) {
    s.hear(0, t);
    s.hear(1, t);
    if (t == 12) s.answer(1, t);
    if (t == 5 + kConfirmWait.count()) break;
    EXPECT_THAT(s.tick(t), IsEmpty()) << t;
  }
  EXPECT_TRUE(s.job.outcome().ranks[1].status) << "rank 1 was given up when its host had confirmed KILL";
  EXPECT_THAT(s.tick(5 + kConfirmWait.count()), ElementsAre(Action(LoseHost{0, kNoAnswer})));
}

TEST(Job, LosesAHostThatDoesNotAnswerFinish) {
  Script s(2, {}, true);
  s.start(2);
  s.end(0, kOk, 1);
  s.end(1, kOk, 1);
  s.answer(1, 2);
  EXPECT_THAT(s.tick(16), ElementsAre(Action(LoseHost{0, kNoAnswer})));
  EXPECT_THAT(s.job.outcome().leftovers, IsEmpty());
  EXPECT_THAT(s.say(HostLost{0, kNoAnswer}, 16), ElementsAre(Action(SweepHost{0})));
  s.say(HostSwept{0, "", {}}, 17);
  s.say(HostClean{1, {}}, 18);
  EXPECT_EQ(s.job.phase(), Phase::finished);
  EXPECT_THAT(s.job.outcome().leftovers, IsEmpty());
}

TEST(Job, BlamesAHostThatWasSilentBeforeARankFailed) {
  for (const bool restart : {false, true}) {
    Script s(3, {}, true);
    if (restart) s.job.allow_restart();
    s.start(3);
    for (int host = 0; host < 3; ++host) s.answer(host, 10);
    s.end(0, ExitStatus(Exited{7}), 14);
    EXPECT_EQ(s.job.outcome().exit_code, 7);
    s.answer(1, 14.001);
    s.end(1, kTermed, 14.1);
    s.say(HostLost{2, "the agent stopped sending heartbeats"}, 25);
    EXPECT_EQ(s.job.outcome().cause, Cause::host_lost);
    EXPECT_EQ(s.job.outcome().exit_code, 125);
    EXPECT_EQ(s.job.outcome().detail, "node2: the agent stopped sending heartbeats");
    ASSERT_EQ(s.job.outcome().lost_hosts.size(), 1u);
    s.say(RankDrained{2}, 25);
    EXPECT_EQ(s.job.outcome().may_restart, restart);
    s.say(HostSwept{2, "no route"}, 26);
    ASSERT_EQ(s.job.outcome().unswept.size(), 1u);
  }
}

TEST(Job, BlamesAHostThatWasSilentBeforeARankFailedAlsoAfterFinish) {
  Script s(2, {}, true);
  s.start(2);
  s.end(1, kOk, 1);
  s.answer(1, 1);
  s.end(0, ExitStatus(Exited{7}), 14);
  EXPECT_EQ(s.job.phase(), Phase::finishing);
  s.say(HostLost{1, kNoAnswer}, 29);
  EXPECT_EQ(s.job.outcome().cause, Cause::host_lost);
  EXPECT_THAT(s.job.outcome().lost_hosts, SizeIs(1));
}

TEST(Job, KeepsTheFailureThatCameBeforeTheSilence) {
  Script s(2, {}, true);
  s.start(2);
  s.answer(1, 10);
  s.end(0, ExitStatus(Exited{7}), 14);
  s.answer(1, 14.001);
  s.say(HostLost{1, kNoAnswer}, 29);
  EXPECT_EQ(s.job.outcome().cause, Cause::rank_failed);
  EXPECT_EQ(s.job.outcome().exit_code, 7);
}

TEST(Job, KeepsTheFailureIfAnotherConnectionEndsSoonAfterIt) {
  Script s(2, {}, true);
  s.start(2);
  s.answer(1, 13);
  s.end(0, ExitStatus(Exited{7}), 14);
  s.say(HostLost{1, "closed"}, 14.1);
  EXPECT_EQ(s.job.outcome().cause, Cause::rank_failed);
}

TEST(Job, AFirstSignalAfterKillDoesNotGiveHostsUp) {
  Script deaf(2);
  deaf.start();
  deaf.end(0, ExitStatus(Exited{7}), 0);
  EXPECT_THAT(deaf.tick(5), ElementsAre(Action(SignalRanks{SIGKILL})));
  EXPECT_THAT(deaf.say(UserSignal{SIGINT}, 5.01), IsEmpty());
  EXPECT_EQ(deaf.job.phase(), Phase::ending);
  EXPECT_THAT(deaf.say(UserSignal{SIGINT}, 5.02), Contains(Action(DropHost{0})));
}

TEST(Job, KnowsTheTimeByWhichTheRanksOfAnUnreachableHostHaveEnded) {
  Script s(1);
  s.start();
  s.say(HostLost{0, "closed", "", Script::at(40)}, 2);
  s.say(RankDrained{0}, 2);
  s.say(HostSwept{0, "no route"}, 3);
  ASSERT_EQ(s.job.outcome().unswept.size(), 1u);
  EXPECT_EQ(s.job.outcome().unswept[0].gone_by, Script::at(40));
}

TEST(Job, WaitsForASlowReaderUntilCtrlC) {
  Script s(1);
  s.start();
  EXPECT_THAT(s.say(RankEnded{0, kOk, 1}, 1), IsEmpty());
  EXPECT_FALSE(s.job.deadline());
  EXPECT_THAT(s.say(UserSignal{SIGINT}, 100), IsEmpty());
  EXPECT_THAT(s.say(UserSignal{SIGINT}, 101), ElementsAre(Action(FinishHost{0})));
  EXPECT_THAT(s.say(HostClean{0, {}}, 102),
              ElementsAre(Action(DropHost{0}), Action(Finished{}), Action(StopWaiting{})));
  EXPECT_THAT(s.job.outcome().leftovers, IsEmpty());
  EXPECT_TRUE(s.job.outcome().unread);
}

TEST(Job, TimeoutWaitsForTheReaderOnlyWhileItReads) {
  Script s(2, timeout_of(10));
  s.start();
  s.tick(10);
  s.end(0, kTermed, 11);
  s.say(RankEnded{1, kTermed, 11}, 11);  // its pipe is full
  EXPECT_EQ(s.deadline(), 16);
  s.job.reader_took_some(s.at(14));
  EXPECT_EQ(s.deadline(), 19);
  s.job.output_arrived(s.at(18));
  EXPECT_EQ(s.deadline(), 23);
  EXPECT_THAT(s.tick(23), ElementsAre(Action(FinishHost{0})));
  EXPECT_TRUE(s.job.outcome().unread);
  EXPECT_THAT(s.say(HostClean{0, {}}, 24), ElementsAre(Action(DropHost{0}), Action(Finished{}), Action(StopWaiting{})));
  EXPECT_EQ(s.job.outcome().exit_code, kExitTimeout);
}

TEST(Job, LimitsTheWaitForASlowReaderAfterATimeout) {
  Script s(1, timeout_of(10));
  s.start();
  s.tick(10);
  s.say(RankEnded{0, kTermed, 11}, 11);
  for (int time = 12; time <= 40; ++time) s.job.reader_took_some(s.at(time));
  EXPECT_EQ(s.deadline(), 41);
}

TEST(Job, TimeoutAppliesWhileWaitingForTheReader) {
  Script s(1, timeout_of(10));
  s.start();
  s.end(0, kOk, 1);
  s.say(HostClean{0, {}}, 2);
  EXPECT_EQ(s.job.phase(), Phase::finished);
  EXPECT_EQ(s.deadline(), 10);
  EXPECT_THAT(s.tick(10), ElementsAre(Action(StopWaiting{})));
  EXPECT_EQ(s.job.outcome().cause, Cause::timeout);
  EXPECT_EQ(s.job.outcome().exit_code, kExitTimeout);
}

TEST(Job, TimeLimitDuringTheCleanupHasItsOwnTimeIfTheReaderDoesNotRead) {
  Script s(1, timeout_of(10));
  s.start();
  s.end(0, kOk, 8);
  EXPECT_THAT(s.tick(10), IsEmpty());
  s.say(HostClean{0, {}}, 11);
  EXPECT_EQ(s.deadline(), 11 + kReaderWait.count());
  EXPECT_THAT(s.tick(11 + kReaderWait.count()), ElementsAre(Action(StopWaiting{})));
  EXPECT_EQ(s.job.outcome().cause, Cause::timeout);
  EXPECT_EQ(cause_at(s), 10);
}

TEST(Job, ReaderHasADeadlineAfterTermButNotAfterCtrlC) {
  for (const int signal : {SIGTERM, SIGHUP, SIGINT}) {
    Script s(1);
    s.start();
    s.say(UserSignal{signal}, 1);
    s.end(0, kTermed, 2);
    s.say(HostClean{0, {}}, 3);
    EXPECT_EQ(s.job.phase(), Phase::finished);
    if (signal == SIGINT) {
      EXPECT_FALSE(s.job.deadline());
      EXPECT_THAT(s.say(UserSignal{SIGINT}, 20), ElementsAre(Action(StopWaiting{})));
    } else {
      EXPECT_EQ(s.deadline(), 8);
      EXPECT_THAT(s.tick(8), ElementsAre(Action(StopWaiting{})));
    }
    EXPECT_EQ(s.job.outcome().exit_code, 128 + signal);
  }
}

TEST(Job, SignalWhileWaitingForTheReaderReplacesSuccess) {
  Script s(1);
  s.start();
  s.end(0, kOk, 1);
  s.say(HostClean{0, {}}, 2);
  EXPECT_THAT(s.say(UserSignal{SIGINT}, 3), ElementsAre(Action(StopWaiting{})));
  EXPECT_EQ(s.job.outcome().cause, Cause::interrupted);
  EXPECT_EQ(s.job.outcome().exit_code, 130);
}

TEST(Job, FailedStartEndsTheOthersWithTheShellExitCode) {
  Script s(2);
  s.start();
  EXPECT_THAT(s.end(0, ExitStatus(NotStarted{2, "program \"x\": not found in PATH"}), 1),
              Contains(Action(SignalRanks{SIGTERM})));
  EXPECT_EQ(s.job.outcome().exit_code, 127);
}

TEST(Job, AbortCountsAsFailureWhenCalled) {
  Script s(2);
  s.start();
  EXPECT_THAT(s.say(RankAborted{1, 7, 5'000'000'000}, 5), Contains(Action(SignalRanks{SIGTERM})));
  s.end(0, ExitStatus(Exited{3}), 6);  // its peer has ended
  s.end(1, ExitStatus(Signaled{SIGTERM}), 9);
  const Outcome& outcome = s.job.outcome();
  EXPECT_EQ(outcome.exit_code, 7);
  EXPECT_EQ(outcome.first_failure, 1);
  EXPECT_EQ(outcome.ranks[1].status, ExitStatus(Aborted{7}));
  EXPECT_FALSE(outcome.ranks[1].ended_by_us);
  EXPECT_FALSE(outcome.ranks[0].ended_by_us) << "no signal reached this rank";
}

TEST(Job, AbortAfterAFailureIsAConsequence) {
  Script s(2);
  s.start();
  s.end(0, ExitStatus(Exited{3}), 5);
  s.say(RankAborted{1, 7, 6'000'000'000}, 6);
  s.end(1, ExitStatus(Exited{7}), 7);
  EXPECT_EQ(s.job.outcome().exit_code, 3);
  EXPECT_TRUE(s.job.outcome().ranks[1].ended_by_us);
}

TEST(Job, AbortOnAHostThatIsLostLaterWasNotStopped) {
  Script s(2, {}, true);
  s.start();
  s.end(0, ExitStatus(Exited{3}), 5);
  s.say(RankAborted{1, 7, 6'000'000'000}, 6);
  s.say(HostLost{1, "silence"}, 20);
  EXPECT_EQ(s.job.outcome().exit_code, 3);
  EXPECT_FALSE(s.job.outcome().ranks[1].ended_by_us);
}

TEST(Job, EarlierAbortReportedLaterIsTheCause) {
  Script s(2);
  s.start();
  s.end(0, ExitStatus(Exited{3}), 5);
  s.say(RankAborted{1, 7, 4'000'000'000}, 5);
  EXPECT_EQ(s.job.outcome().first_failure, 1);
  EXPECT_EQ(s.job.outcome().exit_code, 7);
}

TEST(Job, AbortShortlyBeforeAKilledPeerIsAConsequence) {
  for (const auto& [heard_first, status] : {std::pair{true, ExitStatus(Signaled{SIGKILL})},
                                            {false, ExitStatus(Signaled{SIGKILL})},
                                            {true, ExitStatus(LeftMpi{})},
                                            {false, ExitStatus(LeftMpi{})}}) {
    Script s(3);
    s.start();
    if (heard_first) s.say(RankAborted{1, 15, 4'900'000'000}, 5);
    s.end(2, status, 5);
    if (!heard_first) s.say(RankAborted{1, 15, 4'900'000'000}, 5);
    s.end(1, ExitStatus(Exited{15}), 5);
    s.end(0, ExitStatus(Signaled{SIGTERM}), 6);
    const Outcome& outcome = s.job.outcome();
    EXPECT_EQ(outcome.first_failure, 2);
    EXPECT_EQ(outcome.exit_code, status.shell_code());
    EXPECT_FALSE(outcome.ranks[2].ended_by_us);
    EXPECT_TRUE(outcome.ranks[0].ended_by_us);
  }
}

TEST(Job, AbortStaysTheCauseIfTheKillIsMuchLaterOrOurs) {
  Script s(2);
  s.start();
  s.say(RankAborted{1, 7, 2'000'000'000}, 2);
  s.end(0, ExitStatus(Signaled{SIGKILL}), 4);
  EXPECT_EQ(s.job.outcome().first_failure, 1);
  Script ours(2);
  ours.start();
  ours.say(RankAborted{1, 7, 2'000'000'000}, 2);
  ours.say(UserSignal{SIGINT}, 2);  // the second signal: KILL at once
  ours.end(0, ExitStatus(Signaled{SIGKILL}), 2);
  EXPECT_EQ(ours.job.outcome().first_failure, 1);
  EXPECT_EQ(ours.job.outcome().exit_code, 7);
}

TEST(Job, AbortEndsAllRanksDespiteOnFailureContinue) {
  Policy policy;
  policy.abort_on_failure = false;
  Script s(3, policy);
  s.start();
  EXPECT_THAT(s.end(0, ExitStatus(Exited{3}), 5), IsEmpty());
  EXPECT_THAT(s.say(RankAborted{1, 7, 6'000'000'000}, 6), Contains(Action(SignalRanks{SIGTERM})));
  EXPECT_EQ(s.job.outcome().exit_code, 3);
}

TEST(Job, FailedOutputEndsTheJobWithItsExitCode) {
  Script s(1);
  s.start();
  EXPECT_THAT(s.say(OutputFailed{"stdout: No space left on device", 1}, 1), Contains(Action(SignalRanks{SIGTERM})));
  EXPECT_EQ(s.job.outcome().exit_code, 1);
  EXPECT_EQ(s.job.outcome().cause, Cause::output_failed);
}

TEST(Job, RanksStartWhenTheFilesAreReady) {
  Script s(2, {}, true);
  s.job.expect_files();
  EXPECT_THAT(s.say(HostReady{0}, 0), IsEmpty());
  EXPECT_THAT(s.say(HostReady{1}, 1), ElementsAre(Action(PrepareFiles{})));
  EXPECT_EQ(s.job.phase(), Phase::starting);
  EXPECT_THAT(s.say(FilesReady{}, 4), ElementsAre(Action(StartRanks{0}), Action(StartRanks{1})));
  EXPECT_EQ(s.job.outcome().started_at, Script::at(4));
}

TEST(Job, SecondFaultEndsTheWaitForTheFiles) {
  const auto cause = [](const Event& event) {
    Script s(2, timeout_of(8), true);
    s.job.expect_files();
    s.say(HostReady{0}, 0);
    s.say(HostReady{1}, 0);
    s.say(event, 1);
    s.tick(7);
    s.tick(8);
    EXPECT_THAT(s.say(FilesReady{}, 9), IsEmpty());
    return s.job.outcome().cause;
  };
  EXPECT_EQ(cause(HostLost{1, "silence"}), Cause::host_lost);
  EXPECT_EQ(cause(UserSignal{SIGINT}), Cause::interrupted);
  EXPECT_EQ(cause(OutputFailed{"cannot empty logs", 2}), Cause::output_failed);
  EXPECT_EQ(cause(StacksTaken{}), Cause::timeout);
}

TEST(Job, HostsThatFailWhileFilesChangeAreReportedTogether) {
  Script s(3, {}, true);
  s.job.expect_files();
  for (const int host : {0, 1, 2}) s.say(HostReady{host}, 0);
  s.say(HostLost{1, "cannot remove w1/f"}, 1);
  s.say(HostLost{2, "cannot remove w2/f"}, 1);
  EXPECT_TRUE(s.job.outcome().detail.empty());
  s.say(FilesReady{}, 2);
  EXPECT_EQ(s.job.outcome().cause, Cause::host_lost);
  EXPECT_EQ(s.job.outcome().lost_hosts.size(), 2U);
}

TEST(Job, FilesStayUnchangedIfAHostCannotBeUsed) {
  Script s(2, {}, true);
  s.job.expect_files();
  s.say(HostReady{0}, 0);
  EXPECT_THAT(s.say(HostLost{1, "another job uses the directory"}, 1), testing::Not(Contains(Action(PrepareFiles{}))));
}

TEST(Job, FailedInputEndsTheJob) {
  Script s(2);
  s.start();
  EXPECT_THAT(s.say(InputFailed{"cannot read stdin: Input/output error"}, 1), Contains(Action(SignalRanks{SIGTERM})));
  EXPECT_EQ(s.job.outcome().exit_code, 1);
  EXPECT_EQ(s.job.outcome().cause, Cause::input_failed);
  EXPECT_THAT(s.say(OutputFailed{"later", 1}, 1), IsEmpty());
  EXPECT_EQ(s.job.outcome().detail, "cannot read stdin: Input/output error");
}

TEST(Job, ProgressListsRunningRanks) {
  Script s(3);
  s.start();
  s.end(1, ExitStatus(Exited{1}), 1);
  const Progress progress = s.job.progress();
  EXPECT_EQ(progress.phase, Phase::ending);
  EXPECT_EQ(progress.running, (std::set<int>{0, 2}));
  EXPECT_EQ(progress.kill_at, Script::at(6));
}

TEST(Sidecar, MayEndAfterTheRanks) {
  Script script(1);
  script.job.expect_sidecar();
  script.start();
  script.end(0, ExitStatus(Exited{0}), 1);
  EXPECT_EQ(script.job.phase(), Phase::running);
  EXPECT_EQ(script.deadline(), 6);
  EXPECT_THAT(script.say(SidecarEnded{ExitStatus(Exited{0}), ""}, 2), IsEmpty());
  EXPECT_THAT(script.say(SidecarGone{}, 2), ElementsAre(Action(FinishHost{0})));
}

TEST(Sidecar, HasADeadlineAfterTheRanks) {
  Script script(1);
  script.job.expect_sidecar();
  script.start();
  script.end(0, ExitStatus(Exited{0}), 1);
  EXPECT_THAT(script.tick(6), ElementsAre(Action(FinishHost{0})));
  script.say(HostClean{0, {}}, 7);
  EXPECT_EQ(script.job.outcome().exit_code, 0);
}

TEST(Sidecar, ServerEndsWithTheRanks) {
  Script script(1);
  script.job.expect_sidecar(std::chrono::seconds(0));
  script.start();
  script.end(0, ExitStatus(Exited{0}), 1);
  EXPECT_THAT(script.tick(1), ElementsAre(Action(FinishHost{0})));
}

TEST(Sidecar, FailureWhileRanksRunEndsTheJob) {
  Script script(2);
  script.job.expect_sidecar();
  script.start();
  EXPECT_THAT(script.say(SidecarEnded{ExitStatus(Exited{3}), "it failed"}, 1), Contains(Action(SignalRanks{SIGTERM})));
  script.end_all(ExitStatus(Signaled{SIGTERM, false}), 2);
  script.say(SidecarGone{}, 2);
  EXPECT_EQ(script.job.phase(), Phase::finishing);
  EXPECT_EQ(script.job.outcome().cause, Cause::sidecar_failed);
  EXPECT_EQ(script.job.outcome().exit_code, 3);
  EXPECT_EQ(script.job.outcome().detail, "it failed");
}

TEST(Sidecar, FailureAfterTheRanksIsIgnored) {
  Script script(1);
  script.job.expect_sidecar();
  script.start();
  script.end(0, ExitStatus(Exited{0}), 1);
  script.say(SidecarEnded{ExitStatus(Exited{3}), "it failed"}, 2);
  script.say(SidecarGone{}, 2);
  script.say(HostClean{0, {}}, 3);
  EXPECT_EQ(script.job.outcome().exit_code, 0);
}

TEST(Sidecar, InterruptEndsTheWaitForIt) {
  Script script(1);
  script.job.expect_sidecar();
  script.start();
  script.end(0, ExitStatus(Exited{0}), 1);
  EXPECT_THAT(script.say(UserSignal{SIGINT}, 2), ElementsAre(Action(FinishHost{0})));
}

TEST(Sidecar, IsGivenUpAfterAFailedRank) {
  Script script(1);
  script.job.expect_sidecar();
  script.start();
  script.end(0, ExitStatus(Exited{2}), 1);
  EXPECT_EQ(script.job.phase(), Phase::ending);
  EXPECT_EQ(script.deadline(), 6);
  EXPECT_THAT(script.tick(6), ElementsAre(Action(FinishHost{0})));
  EXPECT_EQ(script.job.outcome().exit_code, 2);
}

struct Grown : Script {
  Grown() : Script(2, {}, true) {
    start(2);
    EXPECT_TRUE(job.may_grow());
    EXPECT_THAT(say(RanksAdded{{1, 1, 0}}, 1), ElementsAre(Action(StartWorld{2, 0}), Action(StartWorld{2, 1})));
    for (int id = 2; id < 5; ++id) say(RankStarted{id, 100 + id, 1, ""}, 1);
  }
};

TEST(Job, WaitsForSpawnedRanks) {
  Grown s;
  EXPECT_EQ(s.job.progress().ranks, 5);
  for (int id = 0; id < 4; ++id) EXPECT_THAT(s.end(id, kOk, 2), IsEmpty());
  EXPECT_THAT(s.end(4, kOk, 3), ElementsAre(Action(FinishHost{0}), Action(FinishHost{1})));
  EXPECT_EQ(s.job.outcome().exit_code, 0);
}

TEST(Job, FailureOfASpawnedRankEndsAllRanks) {
  Grown s;
  EXPECT_THAT(s.end(3, ExitStatus(Exited{7}), 2), Contains(Action(SignalRanks{SIGTERM})));
  EXPECT_EQ(s.job.outcome().first_failure, 3);
  EXPECT_EQ(s.job.outcome().exit_code, 7);
  EXPECT_THAT(s.job.progress().running, ElementsAre(0, 1, 2, 4));
  EXPECT_EQ(s.job.progress().worlds.fold(s.job.progress().running), "0-1,2/0,2/2");
}

TEST(Job, ReportsAnUnkillableSpawnedRankWithItsWorld) {
  Grown s;
  s.say(UserSignal{SIGTERM}, 2);
  for (int id = 0; id < 4; ++id) s.end(id, kTermed, 2);
  s.tick(20);
  s.answer(0, 21);
  s.tick(40);
  s.answer(0, 40.1);
  s.tick(40.1);
  for (int id = 0; id < 5; ++id) s.say(RankDrained{id}, 41);
  for (const int host : {0, 1}) s.say(HostClean{host, {}}, 41);
  EXPECT_THAT(s.job.outcome().leftovers,
              Contains("node0: rank 2/2, pid 104, did not end after SIGKILL: the host may need a reboot"));
}

TEST(Job, LostHostLosesItsSpawnedRanks) {
  Grown s;
  s.say(HostLost{1, "gone"}, 2);
  for (const size_t id : {1u, 2u, 3u}) EXPECT_TRUE(s.job.outcome().ranks[id].status) << id;
  EXPECT_FALSE(s.job.outcome().ranks[4].status);
}

struct WithAHostToCome : Script {
  WithAHostToCome() : Script(1) {
    start();
    EXPECT_THAT(say(HostAdded{"late"}, 1), IsEmpty());
  }
};

TEST(Job, StartsRanksOnALateHostAndFinishesIt) {
  WithAHostToCome s;
  EXPECT_THAT(s.say(HostReady{1}, 1), IsEmpty());
  EXPECT_THAT(s.say(RanksAdded{{1, 0}}, 1), ElementsAre(Action(StartWorld{2, 0}), Action(StartRanks{1})));
  EXPECT_THAT(s.say(RanksAdded{{1}}, 1), ElementsAre(Action(StartWorld{3, 1})));
  for (int id = 0; id < 3; ++id) s.end(id, kOk, 2);
  EXPECT_THAT(s.end(3, kOk, 3), ElementsAre(Action(FinishHost{0}), Action(FinishHost{1})));
}

TEST(Job, HostThatNeverConnectsDoesNotFailTheJob) {
  WithAHostToCome s;
  EXPECT_THAT(s.say(HostLost{1, "no route"}, 1), IsEmpty());
  EXPECT_EQ(s.job.phase(), Phase::running);
  EXPECT_THAT(s.end(0, kOk, 2), ElementsAre(Action(FinishHost{0})));
  EXPECT_THAT(s.job.outcome().lost_hosts, IsEmpty());
  EXPECT_EQ(s.job.outcome().exit_code, 0);
}

TEST(Job, HostThatNeverConnectsIsNotLostInAnEndingJob) {
  WithAHostToCome s;
  s.say(UserSignal{SIGINT}, 1);
  EXPECT_THAT(s.say(HostLost{1, "no route"}, 1), IsEmpty());
  EXPECT_THAT(s.end(0, kTermed, 2), ElementsAre(Action(FinishHost{0})));
  EXPECT_THAT(s.job.outcome().lost_hosts, IsEmpty());
}

TEST(Job, FinishesAHostThatConnectsWhileTheJobEnds) {
  WithAHostToCome s;
  s.say(UserSignal{SIGINT}, 1);
  s.say(HostReady{1}, 1);
  EXPECT_THAT(s.end(0, kTermed, 2), ElementsAre(Action(FinishHost{0}), Action(FinishHost{1})));
}

TEST(Job, GivingUpOmitsAHostThatNeverConnected) {
  WithAHostToCome s;
  for (int i = 0; i < 3; ++i) s.say(UserSignal{SIGINT}, 1);
  EXPECT_THAT(s.job.outcome().leftovers,
              ElementsAre("node0: the agent did not confirm in time that all processes ended"));
}

TEST(Job, EndDoesNotWaitForAHostThatIsNotConnected) {
  WithAHostToCome s;
  EXPECT_THAT(s.end(0, kOk, 2), ElementsAre(Action(FinishHost{0}), Action(DropHost{1})));
  EXPECT_THAT(s.say(HostReady{1}, 2), IsEmpty());
  EXPECT_THAT(s.say(HostClean{0, {}}, 2), ElementsAre(Action(DropHost{0}), Action(Finished{})));
}

TEST(Job, LossOfALateHostEndsTheJob) {
  WithAHostToCome s;
  s.say(HostReady{1}, 1);
  s.say(RanksAdded{{1}}, 1);
  EXPECT_THAT(s.say(HostLost{1, "gone"}, 2), Contains(Action(SignalRanks{SIGTERM})));
  ASSERT_EQ(s.job.outcome().lost_hosts.size(), 1u);
  EXPECT_EQ(s.job.outcome().lost_hosts[0].name, "late");
}

TEST(Job, AcceptsNewRanksOnlyWhileRanksRun) {
  Script s(1);
  EXPECT_FALSE(s.job.may_grow()) << "nothing has started";
  s.start();
  EXPECT_TRUE(s.job.may_grow());
  s.say(UserSignal{SIGINT}, 1);
  EXPECT_FALSE(s.job.may_grow()) << "it is ending";
  EXPECT_THAT(s.say(RanksAdded{{0}}, 1), IsEmpty());
  EXPECT_THAT(s.say(HostAdded{"late"}, 1), IsEmpty());
  EXPECT_THAT(s.job.outcome().ranks, SizeIs(1));
}

}  // namespace
}  // namespace dlaunch::job
