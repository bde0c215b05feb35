#include "job/rank_progress.h"

#include <gmock/gmock.h>

namespace dlaunch::job {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;
using testing::Pair;

Time at(int s) { return Time{} + seconds(s); }

struct Ranks {
  RankProgress progress{std::nullopt};
  std::set<int> running = {0, 1, 2, 3};

  void reached(const std::vector<std::int64_t>& numbers) {
    for (size_t rank = 0; rank < numbers.size(); ++rank) progress.reached(static_cast<int>(rank), 0, numbers[rank]);
  }
  /// The ranks reported by the second call.
  std::vector<Laggards> steadily_behind(int s) {
    EXPECT_THAT(progress.evaluate(running, true, at(s)), IsEmpty());
    return progress.evaluate(running, true, at(s) + RankProgress::kSteady);
  }
};

TEST(RankProgress, StoresTheLastNumberOfEachRank) {
  Ranks ranks;
  EXPECT_EQ(ranks.progress.all(), std::nullopt);
  EXPECT_EQ(ranks.progress.of(0), std::nullopt);
  ranks.reached({5, 9, 7});
  ranks.progress.reached(1, 0, 10);
  EXPECT_THAT(ranks.progress.of(1), Optional(10));
  EXPECT_THAT(ranks.progress.all(), Optional(Reached{.ranks = 3, .least = 5, .most = 10, .last = 0}));
}

TEST(RankProgress, CountsNumbersThatChange) {
  Ranks ranks;
  ranks.reached({1});
  const auto before = ranks.progress.changes();
  ranks.reached({1});
  EXPECT_EQ(ranks.progress.changes(), before);
  ranks.reached({0});
  EXPECT_NE(ranks.progress.changes(), before);
}

TEST(RankProgress, ReportsALaggingRankOnce) {
  Ranks ranks;
  ranks.reached({1, 1, 1, 1});
  ranks.reached({2, 2, 2, 2});
  ranks.reached({12, 12, 12, 3});
  EXPECT_THAT(ranks.steadily_behind(0), IsEmpty()) << "9 steps are not far";
  ranks.reached({13, 13, 13});
  ranks.reached({14, 14, 14});
  EXPECT_THAT(ranks.steadily_behind(10), ElementsAre(Laggards{.ranks = {{3, 3}}, .median = 14}));
  ranks.reached({500, 500, 500});
  EXPECT_THAT(ranks.steadily_behind(20), IsEmpty());
}

TEST(RankProgress, DoesNotReportAShortLag) {
  Ranks ranks;
  ranks.progress = RankProgress(5);
  ranks.reached({10, 10, 10, 1});
  EXPECT_THAT(ranks.progress.evaluate(ranks.running, true, at(0)), IsEmpty());
  ranks.reached({10, 10, 10, 10});
  EXPECT_THAT(ranks.progress.evaluate(ranks.running, true, at(1)), IsEmpty());
  ranks.reached({20, 20, 20, 10});
  EXPECT_THAT(ranks.progress.evaluate(ranks.running, true, at(2)), IsEmpty());
  EXPECT_THAT(ranks.progress.evaluate(ranks.running, false, at(3)), IsEmpty()) << "its lines may not be read yet";
  EXPECT_THAT(ranks.progress.evaluate(ranks.running, true, at(5)), IsEmpty());
  EXPECT_THAT(ranks.progress.evaluate(ranks.running, true, at(7)).size(), 1);
}

TEST(RankProgress, AcceptsANumberOfSteps) {
  for (const auto& [lag, told] : {std::pair{9, true}, std::pair{10, false}, std::pair{0, false}}) {
    Ranks ranks;
    ranks.progress = RankProgress(lag);
    ranks.reached({10, 10, 10, 1});
    EXPECT_EQ(!ranks.steadily_behind(0).empty(), told) << lag;
  }
}

TEST(RankProgress, ReportsSeveralRanksTogether) {
  Ranks ranks;
  ranks.progress = RankProgress(5);
  ranks.running = {0, 1, 2, 3, 4};
  ranks.reached({90, 80, 80, 1, 2});
  const auto behind = ranks.steadily_behind(0);
  ASSERT_EQ(behind.size(), 1);
  EXPECT_THAT(behind.front().ranks, ElementsAre(Pair(3, 1), Pair(4, 2)));
  EXPECT_EQ(behind.front().median, 80);
}

TEST(RankProgress, RankThatWritesEveryHundredthStepDoesNotLag) {
  Ranks ranks;
  ranks.reached({99, 99, 99, 0});
  ranks.reached({100, 100, 100, 100});
  ranks.reached({198, 198, 198});
  ranks.reached({199, 199, 199});
  EXPECT_THAT(ranks.steadily_behind(0), IsEmpty());
}

TEST(RankProgress, StepsMayRestartInEachEpoch) {
  Ranks ranks;
  ranks.progress = RankProgress(50);
  ranks.reached({100, 100, 100, 90});
  ranks.reached({1, 1, 1});
  EXPECT_THAT(ranks.steadily_behind(0), IsEmpty()) << "101 to 90";
  ranks.reached({60, 60, 60});
  EXPECT_THAT(ranks.steadily_behind(10), ElementsAre(Laggards{.ranks = {{3, 90}}, .median = 60})) << "160 to 90";
}

TEST(RankProgress, EndedRankDoesNotLag) {
  Ranks ranks;
  ranks.progress = RankProgress(5);
  ranks.reached({10, 10, 10, 1});
  ranks.running = {0, 1, 2};
  EXPECT_THAT(ranks.steadily_behind(0), IsEmpty());
}

TEST(RankProgress, RanksWithoutANumberOrOfAnotherProgramDoNotLag) {
  Ranks ranks;
  ranks.progress = RankProgress(5);
  ranks.reached({100, 100});
  ranks.progress.reached(2, 1, 1);
  EXPECT_THAT(ranks.steadily_behind(0), IsEmpty());
}

TEST(RankProgress, AcceptsHugeNumbers) {
  Ranks ranks;
  for (int i = 0; i < 10'000; ++i) {
    ranks.reached({RankProgress::kMost, 1, RankProgress::kMost, 0});
    ranks.reached({0, RankProgress::kMost, 1, 0});
  }
  ranks.reached({RankProgress::kMost + 1, -1});
  EXPECT_THAT(ranks.progress.all(), Optional(Reached{.ranks = 4, .least = 0, .most = RankProgress::kMost, .last = 0}));
  ranks.steadily_behind(0);
}

}  // namespace
}  // namespace dlaunch::job
