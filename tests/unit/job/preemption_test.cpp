#include "job/preemption.h"

#include <gmock/gmock.h>

#include <csignal>

#include "job/job.h"

namespace dlaunch::job {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

Time at(double s) { return Time{} + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(s)); }

Policy saving(int grace = 25) {
  Policy policy;
  policy.checkpoint.signal = SIGUSR2;
  policy.checkpoint.usual_grace = seconds(grace);
  return policy;
}

Preempted by(int signal, bool at_host = false) { return {.signal = signal, .at_host = at_host}; }

TEST(Preemption, RequiresACheckpointSignal) {
  for (const int signal : {SIGUSR1, SIGUSR2, SIGTERM}) {
    EXPECT_TRUE(Preemption(saving()).announced_by(signal));
    EXPECT_FALSE(Preemption({}).announced_by(signal));
  }
  for (const int signal : {SIGINT, SIGHUP, SIGQUIT, SIGCONT}) EXPECT_FALSE(Preemption(saving()).announced_by(signal));
}

TEST(Preemption, DeadlineIsTheUsersOrTheEndOfTheJobOrTheDefault) {
  const auto deadline = [](const Policy& policy) {
    Preemption preemption(policy);
    preemption.notify(by(SIGUSR1), at(100));
    return *preemption.deadline();
  };
  Policy policy = saving(25);
  EXPECT_EQ(deadline(policy), at(125));
  policy.checkpoint.job_end = at(170);
  EXPECT_EQ(deadline(policy), at(170));
  policy.checkpoint.job_end = at(90);
  EXPECT_EQ(deadline(policy), at(125)) << "its end is over";
  policy.checkpoint.job_end = at(100 + 3600);
  EXPECT_EQ(deadline(policy), at(125)) << "not the time limit has announced itself";
  policy.checkpoint.grace = seconds(7);
  policy.checkpoint.job_end = at(170);
  EXPECT_EQ(deadline(policy), at(107));
}

TEST(Preemption, TermLimitsTheDeadline) {
  for (const auto& [signal, end] : {std::pair{SIGUSR1, 60}, std::pair{SIGTERM, 25}}) {
    Preemption preemption(saving(60));
    preemption.notify(by(signal), at(0));
    EXPECT_EQ(preemption.deadline(), at(end));
  }
}

TEST(Preemption, LaterTermShortensTheDeadlineToTheGrace) {
  Preemption preemption(saving(60));
  EXPECT_EQ(preemption.notify(by(SIGTERM), at(0)), Preemption::Step::begin);
  EXPECT_EQ(preemption.notify(by(SIGTERM, true), at(1)), Preemption::Step::none);
  EXPECT_EQ(preemption.notify(by(SIGTERM, true), at(2.5)), Preemption::Step::none);
  EXPECT_EQ(preemption.deadline(), at(25)) << "batch systems signal all hosts and the launcher";
  EXPECT_EQ(preemption.notify(by(SIGTERM), at(10)), Preemption::Step::none);
  EXPECT_EQ(preemption.deadline(), at(15));
  preemption.notify(by(SIGTERM), at(13));
  EXPECT_EQ(preemption.deadline(), at(15));
}

TEST(Preemption, FirstTermAfterAnotherNoticeShortensTheDeadline) {
  Preemption preemption(saving(60));
  preemption.notify(by(SIGUSR1), at(0));
  EXPECT_EQ(preemption.notify(by(SIGUSR1), at(10)), Preemption::Step::none);
  EXPECT_EQ(preemption.deadline(), at(60));
  preemption.notify(by(SIGTERM, true), at(20));
  EXPECT_EQ(preemption.deadline(), at(25));
}

TEST(Preemption, SecondTermOfTheUserKills) {
  Policy policy = saving();
  policy.checkpoint.at_terminal = true;
  Preemption preemption(policy);
  preemption.notify(by(SIGTERM), at(0));
  EXPECT_EQ(preemption.notify(by(SIGTERM, true), at(0.5)), Preemption::Step::none);
  EXPECT_EQ(preemption.notify(by(SIGTERM), at(1)), Preemption::Step::kill);
}

TEST(Preemption, ReportsTheUsedTime) {
  Preemption preemption(saving());
  preemption.over(at(1));
  EXPECT_FALSE(preemption.notice());
  preemption.notify(by(SIGUSR1), at(2));
  preemption.over(at(5.5));
  preemption.over(at(9));
  EXPECT_EQ(preemption.notice()->used, milliseconds(3500));
  EXPECT_FALSE(preemption.deadline());
}

TEST(Preemption, DoesNotRepeatSignalsOfTheManager) {
  Policy policy = saving();
  policy.checkpoint.by_step = true;
  Preemption preemption(policy);
  preemption.add_signalled(1, SIGUSR2);
  preemption.notify(by(SIGUSR2, true), at(0));
  EXPECT_EQ(preemption.ask_at(), at(2)) << "the other hosts have it by then, and have said so";
  preemption.add_signalled(0, SIGUSR2);
  EXPECT_EQ(preemption.take_signalled(), (std::set<int>{0, 1}));
  EXPECT_FALSE(preemption.ask_at());
}

TEST(Preemption, SignalsAtOnceIfTheManagerDoesNotSignalRanks) {
  Policy policy = saving();
  for (const auto& [by_step, notice] :
       {std::pair{false, by(SIGUSR2, true)}, std::pair{true, by(SIGUSR1, true)}, std::pair{true, by(SIGUSR2)}}) {
    policy.checkpoint.by_step = by_step;
    Preemption preemption(policy);
    preemption.add_signalled(0, notice.at_host ? notice.signal : SIGTERM);
    preemption.notify(notice, at(0));
    EXPECT_FALSE(preemption.ask_at());
    EXPECT_TRUE(preemption.take_signalled().empty());
  }
}

/// Two ranks of a job with --checkpoint-signal USR2, one on each host.
class PreemptedJob : public testing::Test {
 protected:
  void start() {
    for (int host = 0; host < 2; ++host) job.handle(HostReady{host}, at(0));
    for (int rank = 0; rank < 2; ++rank) job.handle(RankStarted{rank, 100 + rank, 1, ""}, at(0));
  }
  Actions signal(int number, double s) { return job.handle(UserSignal{number, 42}, at(s)); }
  Actions end(int rank, ExitStatus status, double s) {
    Actions all = job.handle(RankEnded{rank, status, static_cast<std::int64_t>(s * 1e9)}, at(s));
    for (Action& action : job.handle(RankDrained{rank}, at(s))) all.push_back(action);
    return all;
  }
  void finish(double s) {
    for (int host = 0; host < 2; ++host) job.handle(HostClean{host, {}}, at(s));
    EXPECT_EQ(job.phase(), Phase::finished);
  }
  const ExitStatus ok{Exited{0}};
  const ExitStatus termed{Signaled{SIGTERM, false, false}};
  Job job{saving(), {0, 1}, {"node1", "node2"}, at(0)};
};

TEST_F(PreemptedJob, IsRequeuedAfterAllRanksExitWithZero) {
  start();
  EXPECT_THAT(signal(SIGUSR1, 10), ElementsAre(Action(CheckpointRanks{SIGUSR2, at(35)}), Action(SignalRanks{SIGCONT})));
  EXPECT_EQ(job.deadline(), at(35));
  EXPECT_THAT(end(0, ok, 12), IsEmpty());
  EXPECT_THAT(end(1, ok, 14), Contains(Action(FinishHost{0})));
  finish(14);
  const Outcome& outcome = job.outcome();
  EXPECT_EQ(outcome.cause, Cause::preempted);
  EXPECT_EQ(outcome.exit_code, 75);
  EXPECT_EQ(outcome.preempted, (Preempted{SIGUSR1, false, 42, milliseconds(4000)}));
  EXPECT_EQ(outcome.cause_at, at(10));
  EXPECT_EQ(outcome.ended_at, at(14));
}

TEST(Job, WaitAfterFirstDoesNotShortenAPreemption) {
  Policy policy = saving();
  policy.after_first = seconds(1);
  for (const double first_end : {9.5, 11.0}) {  // before and after the notice
    Job job(policy, {0, 1}, {"node1", "node2"}, at(0));
    for (int host = 0; host < 2; ++host) job.handle(HostReady{host}, at(0));
    const auto end = [&] { job.handle(RankEnded{0, ExitStatus(Exited{0}), 1}, at(first_end)); };
    if (first_end < 10) end();
    job.handle(UserSignal{SIGUSR1, 42}, at(10));
    if (first_end > 10) end();
    EXPECT_EQ(job.deadline(), at(35)) << first_end;
  }
}

TEST_F(PreemptedJob, SignalToAnAgentStartsThePreemption) {
  start();
  EXPECT_THAT(job.handle(HostTermination{SIGUSR1, 1, "", 1}, at(10)),
              Contains(Action(CheckpointRanks{SIGUSR2, at(35)})));
  EXPECT_EQ(job.outcome().preempted, (Preempted{SIGUSR1, true}));
}

TEST(Job, SignalsTheRanksOfAnAgentThatGotTheSignalForwarded) {
  Job job({}, {0, 1}, {"node1", "node2"}, at(0));
  for (int host = 0; host < 2; ++host) job.handle(HostReady{host}, at(0));
  EXPECT_THAT(job.handle(HostTermination{SIGUSR1, 1, "", 1, {}, false}, at(1)),
              ElementsAre(Action(SignalRanks{SIGUSR1, 1})));
  EXPECT_EQ(job.phase(), Phase::running);
}

TEST(Job, IgnoresSignalsToAnAgentThatDoNotEndAJob) {
  Job job({}, {0}, {"node1"}, at(0));
  job.handle(HostReady{0}, at(0));
  EXPECT_THAT(job.handle(HostTermination{SIGUSR1, 1, "", 0}, at(1)), IsEmpty());
  EXPECT_EQ(job.phase(), Phase::running);
}

TEST(Job, RankThatTheNoticeEndsIsNoFailure) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  Job job(saving(), {0}, {"node1"}, at(0));
  job.handle(HostReady{0}, at(0));
  job.handle(RankStarted{0, 100, 1, ""}, at(0));
  job.handle(HostTermination{SIGTERM, 10 * kSecond, "", 0}, at(10));
  job.handle(RankEnded{0, ExitStatus(Signaled{SIGTERM}), 10 * kSecond}, at(10));
  job.handle(RankDrained{0}, at(10));
  EXPECT_EQ(job.outcome().cause, Cause::preempted);
  EXPECT_FALSE(job.outcome().first_failure);
  EXPECT_FALSE(job.outcome().ranks[0].ended_by_us);
}

TEST(Job, SendsTheSignalOfAStepToRanksWhoseAgentGotItForwarded) {
  Policy policy = saving();
  policy.checkpoint.by_step = true;
  Job job(policy, {0, 1}, {"node1", "node2"}, at(0));
  for (int host = 0; host < 2; ++host) job.handle(HostReady{host}, at(0));
  EXPECT_THAT(job.handle(HostTermination{SIGUSR2, 1, "", 1, {}, false}, at(10)), IsEmpty());
  job.handle(HostTermination{SIGUSR2, 1, "", 0, {}, false}, at(10));
  job.handle(HostTermination{SIGUSR2, 1, "", 0, {}, true}, at(10.5));
  EXPECT_THAT(job.tick(at(12)),
              ElementsAre(Action(CheckpointRanks{SIGUSR2, at(35), {0}}), Action(SignalRanks{SIGCONT})));
}

TEST(Job, DoesNotRepeatTheSignalOfAStep) {
  Policy policy = saving();
  policy.checkpoint.by_step = true;
  Job job(policy, {0, 1}, {"node1", "node2"}, at(0));
  for (int host = 0; host < 2; ++host) job.handle(HostReady{host}, at(0));
  EXPECT_THAT(job.handle(HostTermination{SIGUSR2, 1, "", 1}, at(10)), IsEmpty());
  EXPECT_EQ(job.deadline(), at(12));
  EXPECT_THAT(job.tick(at(12)),
              ElementsAre(Action(CheckpointRanks{SIGUSR2, at(35), {1}}), Action(SignalRanks{SIGCONT})));
  EXPECT_EQ(job.deadline(), at(35));
}

TEST_F(PreemptedJob, EndsUnsavedRanksAtTheDeadline) {
  start();
  signal(SIGTERM, 10);
  end(0, ok, 12);
  EXPECT_THAT(job.tick(at(35)), ElementsAre(Action(SignalRanks{SIGTERM}), Action(SignalRanks{SIGCONT})));
  EXPECT_THAT(job.tick(at(40)), Contains(Action(SignalRanks{SIGKILL})));
  end(1, ExitStatus(Signaled{SIGKILL, false, false}), 40.1);
  finish(41);
  EXPECT_EQ(job.outcome().cause, Cause::preempted);
  EXPECT_EQ(job.outcome().exit_code, 143);
  EXPECT_EQ(job.outcome().preempted->used, seconds(25));
}

TEST_F(PreemptedJob, RankThatExitsWithZeroAfterTermHasSaved) {
  start();
  signal(SIGTERM, 10);
  end(0, ok, 12);
  job.tick(at(35));
  end(1, ok, 36);
  finish(36);
  EXPECT_EQ(job.outcome().exit_code, 75);
}

TEST_F(PreemptedJob, FailureWhileSavingSetsTheExitCodeAndEndsNoOtherRank) {
  start();
  signal(SIGUSR1, 10);
  EXPECT_THAT(end(0, ExitStatus(Exited{7}), 11), IsEmpty());
  end(1, ok, 12);
  finish(12);
  EXPECT_EQ(job.outcome().cause, Cause::rank_failed);
  EXPECT_EQ(job.outcome().exit_code, 7);
  EXPECT_EQ(job.outcome().first_failure, 0);
  EXPECT_TRUE(job.outcome().preempted);
}

TEST_F(PreemptedJob, FailureStaysTheCauseAfterTheDeadline) {
  start();
  signal(SIGUSR1, 10);
  end(0, ExitStatus(Exited{7}), 11);
  job.tick(at(35));
  end(1, termed, 35.1);
  finish(36);
  EXPECT_EQ(job.outcome().cause, Cause::rank_failed);
  EXPECT_EQ(job.outcome().exit_code, 7);
}

TEST_F(PreemptedJob, SignalToAnAgentPreemptsTheJob) {
  start();
  EXPECT_THAT(job.handle(HostTermination{SIGTERM, 10'000'000'000, "node2 received a termination signal"}, at(10)),
              Contains(Action(CheckpointRanks{SIGUSR2, at(35)})));
  EXPECT_THAT(signal(SIGTERM, 11), IsEmpty()) << "the same notice";
  EXPECT_EQ(job.deadline(), at(35));
  end(0, ok, 12);
  end(1, ok, 12);
  finish(12);
  EXPECT_EQ(job.outcome().exit_code, 75);
  EXPECT_TRUE(job.outcome().preempted->at_host);
}

TEST_F(PreemptedJob, SignalOfTheUserEndsIt) {
  start();
  signal(SIGUSR1, 10);
  EXPECT_THAT(signal(SIGINT, 11), Contains(Action(SignalRanks{SIGINT})));
  EXPECT_THAT(signal(SIGINT, 11.5), Contains(Action(SignalRanks{SIGKILL})));
  end(0, termed, 12);
  end(1, termed, 12);
  finish(12);
  EXPECT_EQ(job.outcome().cause, Cause::interrupted);
  EXPECT_EQ(job.outcome().exit_code, 130);
}

TEST_F(PreemptedJob, TermOfTheManagerIsNotASecondSignal) {
  start();
  signal(SIGTERM, 10);
  job.tick(at(35));
  EXPECT_FALSE(job.is_repeated(SIGTERM));
  EXPECT_THAT(signal(SIGTERM, 36), IsEmpty()) << "the grace goes on";
  EXPECT_EQ(job.deadline(), at(40));
}

TEST(PreemptedAtATerminal, TwoTermsKill) {
  Policy policy = saving();
  policy.checkpoint.at_terminal = true;
  Job quick(policy, {0}, {"node1"}, at(0));
  quick.handle(HostReady{0}, at(0));
  quick.handle(RankStarted{0, 100, 1, ""}, at(0));
  quick.handle(UserSignal{SIGTERM}, at(10));
  EXPECT_THAT(quick.handle(UserSignal{SIGTERM}, at(11)), Contains(Action(SignalRanks{SIGKILL})));
}

TEST_F(PreemptedJob, EndsAtOnceBeforeItsRanksRun) {
  EXPECT_THAT(signal(SIGTERM, 1), Not(Contains(Action(SignalRanks{SIGTERM}))));
  EXPECT_EQ(job.phase(), Phase::finished);
  EXPECT_EQ(job.outcome().cause, Cause::preempted);
  EXPECT_EQ(job.outcome().exit_code, 75);
}

TEST_F(PreemptedJob, IsNotRestarted) {
  job.allow_restart();
  start();
  signal(SIGUSR1, 10);
  end(0, ExitStatus(Exited{3}), 11);
  EXPECT_THAT(end(1, ok, 12), Contains(Action(FinishHost{0, false})));
  finish(12);
  EXPECT_FALSE(job.outcome().may_restart);
}

TEST_F(PreemptedJob, NoticeAfterTheLastRankHasNoEffect) {
  start();
  end(0, ok, 12);
  job.handle(RankEnded{1, ok, 12'000'000'000}, at(12));
  signal(SIGUSR1, 12.1);
  job.handle(RankDrained{1}, at(12.2));
  finish(12.3);
  EXPECT_EQ(job.outcome().cause, Cause::success);
  EXPECT_EQ(job.outcome().exit_code, 0);
}

}  // namespace
}  // namespace dlaunch::job
