#include "plan/placement.h"

#include <gmock/gmock.h>

#include <numeric>

#include "requests.h"

namespace dlaunch::plan {
namespace {

using testing::ElementsAre;

TEST(Placement, FillsOneHostAfterTheOther) {
  EXPECT_THAT(ranks_per_host(MapBy::slot, {4, 4, 4}, 6), ElementsAre(4, 2, 0));
  EXPECT_THAT(ranks_per_host(MapBy::slot, {4, 4}, 8), ElementsAre(4, 4));
}

TEST(Placement, ByNodePlacesOneByOneWithinCapacity) {
  EXPECT_THAT(ranks_per_host(MapBy::node, {4, 1, 4}, 6), ElementsAre(3, 1, 2));
  EXPECT_THAT(hosts_of_ranks({.map_by = MapBy::node}, {3, 1, 2}), ElementsAre(0, 1, 2, 0, 2, 0));
}

TEST(Placement, BalancesRanksAboveCapacityAsOpenMpi) {
  EXPECT_THAT(ranks_per_host(MapBy::slot, {1, 1}, 5), ElementsAre(3, 2));
  EXPECT_THAT(ranks_per_host(MapBy::slot, {2, 3}, 6), ElementsAre(3, 3));
  EXPECT_THAT(ranks_per_host(MapBy::slot, {2, 3}, 7), ElementsAre(3, 4));
  EXPECT_THAT(ranks_per_host(MapBy::node, {2, 3}, 7), ElementsAre(3, 4));
}

TEST(Placement, HostsWithoutCapacityGetRanksOnlyIfAllAreFull) {
  EXPECT_THAT(ranks_per_host(MapBy::slot, {0, 2, 0}, 5), ElementsAre(0, 5, 0));
  EXPECT_THAT(ranks_per_host(MapBy::slot, {0, 0}, 3), ElementsAre(2, 1));
}

TEST(Placement, RespectsTheLimitOfEachHost) {
  EXPECT_THAT(ranks_per_host(MapBy::slot, {2, 2}, 6, {2, 100}), ElementsAre(2, 4));
  EXPECT_THAT(ranks_per_host(MapBy::slot, {1, 1, 1}, 10, {3, 100, 2}), ElementsAre(3, 5, 2));
  EXPECT_THAT(ranks_per_host(MapBy::slot, {1, 1}, 9, {2, 3}), ElementsAre(2, 3));  // 4 ranks do not fit on any host
  EXPECT_THAT(ranks_per_host(MapBy::node, {2, 2}, 3, {2, 2}), ElementsAre(2, 1));
}

TEST(Placement, RanksStayContiguousOrAreDealtByNode) {
  EXPECT_THAT(hosts_of_ranks({}, {2, 0, 3}), ElementsAre(0, 0, 2, 2, 2));
  EXPECT_THAT(hosts_of_ranks({.rank_by = RankBy::node}, {2, 0, 3}), ElementsAre(0, 2, 0, 2, 2));
}

TEST(Placement, CapacityIsTheNumberOfDevicesIfPresent) {
  Allocation allocation = hosts({8, 4, 2});
  allocation.hosts[0] = host("n0", 8, 4);
  allocation.hosts[1] = host("n1", 4, 8);
  EXPECT_THAT(capacities(allocation, false), ElementsAre(4, 4, 2));
  EXPECT_THAT(capacities(allocation, true), ElementsAre(4, 4, 0));
  allocation.slots_are_limits = false;
  EXPECT_THAT(capacities(allocation, false), ElementsAre(4, 8, 2));
}

/// For all numbers: every rank is placed once, and a host exceeds its capacity only if all hosts are full.
TEST(Placement, PlacesEveryRankOnceForAllSmallNumbers) {
  for (const MapBy map_by : {MapBy::slot, MapBy::node}) {
    for (int code = 0; code < 4 * 4 * 4; ++code) {
      const std::vector<int> room = {code % 4, code / 4 % 4, code / 16};
      const int total = std::accumulate(room.begin(), room.end(), 0);
      for (int ranks = 1; ranks <= 12; ++ranks) {
        const std::vector<int> counts = ranks_per_host(map_by, room, ranks);
        ASSERT_EQ(std::accumulate(counts.begin(), counts.end(), 0), ranks);
        for (size_t i = 0; i < room.size(); ++i) {
          ASSERT_TRUE(ranks > total || counts[i] <= room[i]);
          ASSERT_TRUE(ranks < total || counts[i] >= room[i]);
        }
        const std::vector<int> of_ranks = hosts_of_ranks({.map_by = map_by}, counts);
        for (size_t i = 0; i < room.size(); ++i) {
          ASSERT_EQ(std::count(of_ranks.begin(), of_ranks.end(), static_cast<int>(i)), counts[i]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace dlaunch::plan
