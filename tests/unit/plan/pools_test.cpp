#include <gmock/gmock.h>

#include "dlaunch/plan.h"
#include "requests.h"

namespace dlaunch::plan {
namespace {

using testing::HasSubstr;

/// n0 and n1 are the hosts of the job, n1 and n2 the hosts of one program.
Allocation two_pools() {
  Allocation allocation = hosts({2, 4, 2});
  allocation.pools = {{.hosts = {0, 1}, .slots = {2, 2}, .sequence = {1, 0}},
                      {.hosts = {2, 1}, .slots = {2, 2}, .sequence = {2, 1, 2}}};
  return allocation;
}

Request programs(std::vector<AppRequest> apps) {
  Request asked = request({});
  asked.apps = std::move(apps);
  return asked;
}

AppRequest in_pool(int pool, std::optional<int> ranks = {}) {
  AppRequest made = app({"p" + std::to_string(pool)}, ranks);
  made.pool = pool;
  return made;
}

std::string places(const Result<Plan>& plan) {
  if (!plan) return to_text(plan.error());
  std::string text;
  for (const Rank& rank : plan->ranks) {
    text += std::to_string(rank.app) + plan->hosts[static_cast<size_t>(rank.host)].host.name + "." +
            std::to_string(rank.local_rank) + " ";
  }
  return text;
}

TEST(Pools, PlacesEachProgramOnItsOwnHosts) {
  EXPECT_EQ(places(make_plan(programs({in_pool(0, 3), in_pool(1, 3)}), two_pools())),
            "0n0.0 0n0.1 0n1.0 1n2.0 1n2.1 1n1.1 ");
  EXPECT_EQ(places(make_plan(programs({in_pool(1, 1), in_pool(0, 1), in_pool(1, 2), in_pool(0, 3)}), two_pools())),
            "0n2.0 1n0.0 2n2.1 2n1.0 3n0.1 3n1.1 3n1.2 ");
}

TEST(Pools, FillsItsOwnHostsWithoutN) {
  EXPECT_EQ(make_plan(programs({in_pool(0), in_pool(1)}), two_pools())->ranks.size(), 8U);
  EXPECT_THAT(places(make_plan(programs({in_pool(1), in_pool(0), in_pool(1)}), two_pools())),
              HasSubstr("missing -n for 2 of 3 programs"));
}

TEST(Pools, AppliesOtherPlacementsPerPool) {
  Request asked = programs({in_pool(0), in_pool(1)});
  asked.in_sequence = true;
  EXPECT_EQ(places(make_plan(asked, two_pools())), "0n1.0 0n0.0 1n2.0 1n1.1 1n2.1 ");
  asked.in_sequence = false;
  asked.ranks_per_host = 1;
  EXPECT_EQ(places(make_plan(asked, two_pools())), "0n0.0 0n1.0 1n2.0 1n1.1 ");
  asked.rank_places = {{0, "n0", {}, "ranks:1"}};
  EXPECT_THAT(places(make_plan(asked, two_pools())), HasSubstr("--rankfile conflicts with -H of a single program"));
}

TEST(Pools, RejectsMoreRanksThanAHostHasSlotsInTotal) {
  Request asked = programs({in_pool(0, 4), in_pool(1, 5)});
  EXPECT_THAT(places(make_plan(asked, two_pools())), HasSubstr("more ranks than"));
  asked.oversubscribe = true;
  Allocation allocation = two_pools();
  EXPECT_TRUE(make_plan(asked, allocation));
  allocation.hosts[1].max_slots = 3;
  EXPECT_THAT(places(make_plan(asked, allocation)), HasSubstr("max_slots"));
  allocation.pools[1] = {};
  EXPECT_THAT(places(make_plan(asked, allocation)), HasSubstr("p1: the -H list of this program has no usable host"));
}

}  // namespace
}  // namespace dlaunch::plan
