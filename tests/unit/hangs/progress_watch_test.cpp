#include "hangs/progress_watch.h"

#include <gmock/gmock.h>

namespace dlaunch::hangs {
namespace {

/// Two ranks on each of three hosts.
plan::Plan six_ranks() {
  plan::Plan plan;
  plan.worlds.begin(6);
  for (int host = 0; host < 3; ++host) {
    plan.hosts.emplace_back().host.name = "node" + std::to_string(host + 1);
    for (int i = 0; i < 2; ++i) {
      plan::Rank& rank = plan.ranks.emplace_back();
      rank.rank = static_cast<int>(plan.ranks.size()) - 1;
      rank.host = host;
    }
  }
  return plan;
}

TEST(BehindText, DescribesASingleRank) {
  EXPECT_EQ(behind_text({.ranks = {{3, 120}}, .median = 480}, six_ranks()),
            "rank 3 (node2) lags: progress 120, median of all ranks 480");
}

TEST(BehindText, ShowsEachHostOnceAndARangeOfNumbers) {
  EXPECT_EQ(behind_text({.ranks = {{0, 7}, {1, 7}}, .median = 480}, six_ranks()),
            "ranks 0-1 (node1) lag: progress 7, median of all ranks 480");
  EXPECT_EQ(behind_text({.ranks = {{0, 12}, {2, 5}, {3, 9}}, .median = 480}, six_ranks()),
            "ranks 0,2-3 (node[1-2]) lag: progress 5 to 12, median of all ranks 480");
}

}  // namespace
}  // namespace dlaunch::hangs
