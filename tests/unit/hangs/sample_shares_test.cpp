// A slow rank uses only its part of the time of a stack sample.
#include "hangs/stack_sampler.h"

#include <gmock/gmock.h>

#include <map>

namespace dlaunch::hangs {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;

/// Ranks with pid 100 + rank, each of which needs some time.
struct Host {
  explicit Host(const std::vector<int>& need_ms) {
    for (std::uint32_t rank = 0; rank < need_ms.size(); ++rank) {
      ranks.emplace_back(rank, static_cast<pid_t>(100 + rank));
      needs[static_cast<pid_t>(100 + rank)] = milliseconds(need_ms[rank]);
    }
  }
  /// The ranks with frames.
  std::vector<std::uint32_t> sample() {
    const auto take = [this](pid_t pid, Time deadline) {
      EXPECT_LE(deadline, end);
      stacks::Tree tree;
      tree.timed_out = now + needs.at(pid) > deadline;
      now = std::min(now + needs.at(pid), deadline);
      return tree;
    };
    std::vector<std::uint32_t> whole;
    for (const RankTree& one : sample_in_shares(ranks, end, [this] { return now; }, take)) {
      if (!one.tree.timed_out) whole.push_back(one.rank);
    }
    return whole;
  }

  StackSampler::RankPids ranks;
  std::map<pid_t, milliseconds> needs;
  Time now;
  Time end = Time() + milliseconds(1000);
};

TEST(SampleShares, SlowRankDoesNotHideTheOthers) {
  Host host({5000, 10, 10, 10});
  EXPECT_THAT(host.sample(), ElementsAre(1, 2, 3));
  EXPECT_EQ(host.now, host.end);
}

TEST(SampleShares, SlowRankGetsTheRestOfTheTime) {
  Host host({600, 10, 10, 10});
  EXPECT_THAT(host.sample(), ElementsAre(0, 1, 2, 3));
}

TEST(SampleShares, UnusedTimeGoesToLaterRanks) {
  Host host({10, 10, 10, 900});
  EXPECT_THAT(host.sample(), ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(host.now, Time() + milliseconds(930));
}

TEST(SampleShares, SeveralSlowRanksShareTheTime) {
  Host host({5000, 5000, 200, 200});
  EXPECT_THAT(host.sample(), ElementsAre(2, 3));
  EXPECT_EQ(host.now, host.end);
}

TEST(SampleShares, HostWithoutTimeHasNoRanks) {
  Host host({10});
  host.now = host.end;
  EXPECT_THAT(host.sample(), ElementsAre());
}

}  // namespace
}  // namespace dlaunch::hangs
