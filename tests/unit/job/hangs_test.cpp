#include "job/hangs.h"

#include <gmock/gmock.h>

#include <functional>

#include "job/job.h"

namespace dlaunch::job {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::Pair;
using Kind = Verdict::Kind;
using State = RankSample::State;

Time at(double s) { return Time{} + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(s)); }

/// The sample of a rank at a time in seconds.
using Rank = std::function<RankSample(double)>;

RankSample asleep(double s) {
  return {.stack = 1, .locals = 7, .cpu = milliseconds(static_cast<long>(s * 3)), .io_bytes = 100};
}
/// Polls, or computes without local variables.
RankSample spinning(double s) { return {.stack = 2, .locals = 7, .cpu = milliseconds(static_cast<long>(s * 1000))}; }
RankSample training(double s) {
  RankSample sample = spinning(s);
  sample.locals = static_cast<std::uint64_t>(s * 10);
  return sample;
}
/// The parent waits while its child runs a compiler.
RankSample compiling(double s) {
  RankSample sample = asleep(s);
  sample.cpu = milliseconds(static_cast<long>(s * 900));
  return sample;
}
/// Polls within MPI_Recv.
RankSample polling(double s) {
  RankSample sample = spinning(s);
  sample.polls = true;
  return sample;
}
/// Calls MPI repeatedly; every sample is within a call.
RankSample exchanging(double s) {
  RankSample sample = training(s);
  sample.polls = true;
  return sample;
}
/// Polls in MPI_Recv while its other threads compute.
RankSample helped(double s) {
  RankSample sample = polling(s);
  sample.cpu *= 4;
  return sample;
}
/// A program without Python that computes.
RankSample computing(double s) {
  RankSample sample = spinning(s);
  sample.locals.reset();
  return sample;
}
RankSample writing(double s) {
  RankSample sample = asleep(s);
  sample.io_bytes = static_cast<std::int64_t>(s * 1e6);
  return sample;
}
Rank in(State state) {
  return [state](double s) {
    RankSample sample = asleep(s);
    sample.state = state;
    return sample;
  };
}

/// A silent job with a window of 100 s; due() is called five times per second.
struct Script {
  explicit Script(std::vector<Rank> all) : ranks(std::move(all)) {}

  std::vector<Verdict> run(double from, double to) {
    std::vector<Verdict> told;
    for (double s = from; s < to; s += 0.2) {
      if (!hangs.due(at(s), suspended)) continue;
      ++samples;
      std::vector<RankSample> now;
      std::set<int> running;
      for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank) {
        running.insert(rank);
        if (rank == mute) continue;
        now.push_back(ranks[static_cast<size_t>(rank)](s));
        now.back().rank = rank;
      }
      Verdict verdict = hangs.evaluate(now, running, at(s));
      if (verdict.kind != Kind::nothing) told.push_back(verdict);
    }
    return told;
  }

  std::vector<Rank> ranks;
  Hangs hangs{seconds(100), at(0)};
  Duration suspended{0};
  int mute = -1;
  int samples = 0;
};

TEST(Hangs, RanksThatWriteWithoutProgressAreReportedButDoNotHang) {
  Script script({asleep, asleep});
  std::vector<Kind> kinds;
  for (double s = 0; s < 300; s += 10) {
    script.hangs.wrote_without_progress(at(s));
    for (const Verdict& verdict : script.run(s, s + 10)) kinds.push_back(verdict.kind);
  }
  EXPECT_THAT(kinds, ElementsAre(Kind::some_wait));
  EXPECT_TRUE(script.run(300, 389).empty());
  const auto told = script.run(389, 450);
  ASSERT_EQ(told.size(), 1);
  EXPECT_EQ(told.front().kind, Kind::hangs);
}

TEST(Hangs, EveryRankBlockedForTheWholeWindowIsAHang) {
  Script script({asleep, asleep, asleep});
  EXPECT_TRUE(script.run(0, 99).empty());
  const auto told = script.run(99.2, 1000);
  ASSERT_EQ(told.size(), 1u) << "once";
  EXPECT_EQ(told[0].kind, Kind::hangs);
  EXPECT_THAT(told[0].doing, ElementsAre(Pair(Doing::waits, std::set{0, 1, 2})));
}

TEST(Hangs, ReportsWaitingRanksIfOneRankMoves) {
  for (const Rank& moving : {Rank(training), Rank(spinning), Rank(compiling), Rank(computing), Rank(writing)}) {
    Script script({asleep, asleep, moving});
    const auto told = script.run(0, 1000);
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].kind, Kind::some_wait);
    EXPECT_THAT(told[0].doing, ElementsAre(Pair(Doing::moves, std::set{2}), Pair(Doing::waits, std::set{0, 1})));
  }
}

TEST(Hangs, RanksThatPollInABlockingCallHang) {
  const auto told = Script({polling, asleep, polling}).run(0, 1000);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].kind, Kind::hangs);
  EXPECT_TRUE(Script({exchanging, exchanging}).run(0, 1000).empty());
  EXPECT_TRUE(Script({helped, helped}).run(0, 1000).empty());
  const auto one_moves = Script({polling, exchanging}).run(0, 1000);
  ASSERT_EQ(one_moves.size(), 1u);
  EXPECT_EQ(one_moves[0].kind, Kind::some_wait);
}

TEST(Hangs, ReportsNothingWhileAllRanksMove) {
  for (const Rank& moving : {Rank(training), Rank(spinning), Rank(compiling), Rank(computing), Rank(writing)}) {
    EXPECT_TRUE(Script({moving, moving}).run(0, 1000).empty());
  }
}

TEST(Hangs, StoppedTracedAndStorageRanksDoNotHang) {
  for (const auto& [state, doing] : {std::pair{State::stopped, Doing::stopped}, std::pair{State::traced, Doing::traced},
                                     std::pair{State::waits_for_storage, Doing::waits_for_storage}}) {
    EXPECT_TRUE(Script({in(state), in(state)}).run(0, 1000).empty());
    const auto told = Script({asleep, in(state)}).run(0, 1000);
    ASSERT_EQ(told.size(), 1u);
    EXPECT_EQ(told[0].kind, Kind::some_wait);
    EXPECT_EQ(told[0].doing.at(doing), std::set{1});
  }
}

TEST(Hangs, WaitsAWholeWindowForARankThatStopsLater) {
  const Rank once = [](double s) { return s < 160 ? training(s) : asleep(0); };
  const auto told = Script({asleep, once}).run(0, 1000);
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].kind, Kind::some_wait);
  EXPECT_EQ(told[1].kind, Kind::hangs);
  EXPECT_TRUE(Script({once, once}).run(0, 249).empty());
}

TEST(Hangs, OutputRestartsTheWindow) {
  Script script({asleep, asleep});
  for (double s = 0; s < 1000; s += 30) {
    script.hangs.active(at(s));
    EXPECT_TRUE(script.run(s, s + 30).empty());
  }
  EXPECT_EQ(script.run(1020, 2000).size(), 1u);
}

TEST(Hangs, RanksAreNotSampledWhileTheyWrite) {
  Script script({asleep});
  for (double s = 0; s < 1000; s += 10) {
    script.hangs.active(at(s));
    script.run(s, s + 10);
  }
  EXPECT_EQ(script.samples, 0);
}

TEST(Hangs, RankWithoutASampleDoesNotHang) {
  Script script({asleep, asleep});
  script.mute = 1;
  const auto told = script.run(0, 1000);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].kind, Kind::some_wait);
  EXPECT_EQ(told[0].doing.at(Doing::unknown), std::set{1});
}

TEST(Hangs, SuspendedMachineAndStoppedLauncherRestartTheWindow) {
  Script slept({asleep});
  EXPECT_TRUE(slept.run(0, 90).empty());
  slept.suspended = seconds(3600);
  EXPECT_TRUE(slept.run(90, 185).empty());
  EXPECT_EQ(slept.run(185, 300).size(), 1u);

  Script stopped({asleep});
  EXPECT_TRUE(stopped.run(0, 90).empty());
  EXPECT_TRUE(stopped.run(290, 380).empty());
  EXPECT_EQ(stopped.run(380, 500).size(), 1u);
}

struct HungJob {
  explicit HungJob(OnHang what, bool rounds = false, Policy policy = {}) {
    policy.on_hang = what;
    policy.timeout = seconds(500);
    job.emplace(policy, std::vector<int>{0}, std::vector<std::string>{"node1"}, at(0));
    if (rounds) job->allow_restart();
    job->handle(HostReady{0}, at(0));
    job->handle(RankStarted{0, 100, 1, ""}, at(0));
  }
  std::optional<Job> job;
};

TEST(HungJob, FollowsThePolicy) {
  EXPECT_TRUE(HungJob(OnHang::report).job->handle(Hung{.detail = "x"}, at(10)).empty());
  for (const auto& [what, again] : {std::pair{OnHang::end, false}, std::pair{OnHang::restart, true}}) {
    HungJob hung(what, true);
    EXPECT_FALSE(hung.job->handle(Hung{.detail = "no rank made progress"}, at(10)).empty());
    hung.job->handle(RankEnded{0, ExitStatus(Signaled{15}), 2}, at(11));
    const Actions finish = hung.job->handle(RankDrained{0}, at(11));
    EXPECT_THAT(finish, testing::Contains(Action(FinishHost{0, again})));
    EXPECT_EQ(hung.job->outcome().cause, Cause::hung);
    EXPECT_EQ(hung.job->outcome().exit_code, kExitTimeout);
    EXPECT_EQ(hung.job->outcome().may_restart, again);
  }
}

TEST(HungJob, DoesNotEndRanksThatSaveTheirState) {
  Policy policy;
  policy.checkpoint.signal = SIGUSR2;
  policy.checkpoint.usual_grace = seconds(60);
  HungJob hung(OnHang::end, false, policy);
  EXPECT_FALSE(hung.job->handle(UserSignal{SIGUSR1}, at(9)).empty());
  ASSERT_TRUE(hung.job->saves());
  EXPECT_TRUE(hung.job->handle(Hung{.detail = "no rank made progress"}, at(10)).empty());
  EXPECT_NE(hung.job->outcome().cause, Cause::hung);
}

TEST(HungJob, TimeLimitWaitsAtMostTwoSecondsForStacks) {
  for (const bool answered : {true, false}) {
    HungJob hung(OnHang::report);
    hung.job->show_stacks_first();
    EXPECT_THAT(hung.job->tick(at(500)), ElementsAre(Action(TakeStacks{"time limit reached"})));
    EXPECT_EQ(hung.job->phase(), Phase::running);
    EXPECT_EQ(*hung.job->deadline(), at(502));
    const Actions then = answered ? hung.job->handle(StacksTaken{}, at(501)) : hung.job->tick(at(502));
    EXPECT_THAT(then, testing::Contains(Action(SignalRanks{15})));
    EXPECT_EQ(hung.job->outcome().cause, Cause::timeout);
  }
}

TEST(HungJob, RankEndAfterTheTimeLimitDoesNotChangeTheCause) {
  for (const int code : {0, 3}) {
    HungJob hung(OnHang::report);
    hung.job->show_stacks_first();
    hung.job->tick(at(500));
    hung.job->handle(RankEnded{0, ExitStatus(Exited{code}), 2}, at(501));
    EXPECT_EQ(hung.job->outcome().cause, Cause::timeout);
    EXPECT_EQ(hung.job->outcome().exit_code, kExitTimeout);
    EXPECT_NE(hung.job->phase(), Phase::running);
  }
}

TEST(HungJob, UnexpectedStacksChangeNothing) {
  HungJob hung(OnHang::report);
  EXPECT_TRUE(hung.job->handle(StacksTaken{}, at(10)).empty());
  EXPECT_EQ(hung.job->phase(), Phase::running);
}

}  // namespace
}  // namespace dlaunch::job
