#include "plan/assign.h"

#include <gmock/gmock.h>

#include <chrono>
#include <ctime>

#include "dlaunch/plan.h"
#include "requests.h"

namespace dlaunch::plan {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<int> assigned(const Request& request, const Allocation& allocation) {
  const auto made = assign(request, allocation);
  EXPECT_TRUE(made) << to_text(made.error());
  return made ? made->host_of_rank : std::vector<int>{};
}

std::string refusal(const Request& request, const Allocation& allocation) {
  const auto plan = make_plan(request, allocation);
  if (plan) return "not refused";
  EXPECT_EQ(plan.error().exit_code, 2);
  return to_text(plan.error());
}

Request per_host(int each, std::optional<int> ranks = {}) {
  Request asked = request(ranks);
  asked.ranks_per_host = each;
  return asked;
}

TEST(Assign, NPerHostIsCappedByN) {
  EXPECT_THAT(assigned(per_host(2), hosts({2, 3})), ElementsAre(0, 0, 1, 1));
  EXPECT_THAT(assigned(per_host(2, 3), hosts({2, 3})), ElementsAre(0, 0, 1));
  EXPECT_THAT(assigned(per_host(2, 2), hosts({2, 3})), ElementsAre(0, 0));
  EXPECT_THAT(assigned(per_host(1), hosts({1, 0, 1})), ElementsAre(0, 2));
  Request dealt = per_host(2, 3);
  dealt.binding.map_by = MapBy::node;
  EXPECT_THAT(assigned(dealt, hosts({2, 2})), ElementsAre(0, 1, 0));
}

TEST(Assign, NPerHostAboveSlotsNeedsOversubscribe) {
  Request asked = per_host(3);
  EXPECT_THAT(refusal(asked, hosts({2, 4})), HasSubstr("more ranks than slots"));
  asked.oversubscribe = true;
  EXPECT_THAT(assigned(asked, hosts({2, 4})), ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(refusal(per_host(2, 5), hosts({2, 2})),
              HasSubstr("more ranks than -N allows: 5 ranks requested, 4 allowed (2 per host on 2 hosts)"));
}

/// The numbers are those of mpiexec.hydra 4.0.2 -launcher fork -hosts a:2,b.
TEST(Assign, PlacesInRoundsAsHydra) {
  Request asked = request({});
  asked.in_rounds = asked.oversubscribe = true;
  EXPECT_THAT(assigned(asked, hosts({2, 1})), ElementsAre(0, 0, 1));
  asked.apps.front().ranks = 7;
  EXPECT_THAT(assigned(asked, hosts({2, 1})), ElementsAre(0, 0, 1, 0, 0, 1, 0));
  EXPECT_THAT(assigned(asked, hosts({0, 3})), Each(1));
  Request block = per_host(2, 7);
  block.in_rounds = block.oversubscribe = true;
  EXPECT_THAT(assigned(block, hosts({3, 1})), ElementsAre(0, 0, 1, 1, 0, 0, 1));
  EXPECT_THAT(assigned(block, hosts({1})), Each(0));
  Request two = request(2);
  two.in_rounds = two.oversubscribe = true;
  two.apps.push_back(two.apps.front());
  two.apps.back().ranks.reset();
  EXPECT_THAT(assigned(two, hosts({2, 1})), ElementsAre(0, 0, 1, 0, 0));
  two.apps.front().ranks.reset();
  EXPECT_TRUE(make_plan(two, hosts({2, 1})));
  Allocation limited = hosts({2, 1});
  limited.hosts.front().max_slots = 2;
  EXPECT_THAT(refusal(asked, limited), HasSubstr("max_slots"));
}

TEST(Assign, AcceptsUnknownSlotsOnlyIfTheyDoNotMatter) {
  Allocation unknown = hosts({0, 0});
  for (Host& host : unknown.hosts) host.slots_unknown = true;
  EXPECT_THAT(refusal(request(2), unknown), HasSubstr("missing number of slots: n0 and 1 more"));
  EXPECT_THAT(assigned(per_host(2), unknown), ElementsAre(0, 0, 1, 1));
  EXPECT_TRUE(make_plan(per_host(2), unknown));
  Request sequence = request({});
  sequence.in_sequence = true;
  EXPECT_THAT(assigned(sequence, unknown), ElementsAre(0, 1));
  for (Host& host : unknown.hosts) host.devices = {0, 1}, host.device_kind = DeviceKind::named;
  EXPECT_THAT(assigned(request({}), unknown), ElementsAre(0, 0, 1, 1));
}

TEST(Assign, SequenceFollowsTheOrderOfTheList) {
  Allocation allocation = hosts({2, 2});
  allocation.sequence = {1, 0, 1};
  Request asked = request({});
  asked.in_sequence = true;
  EXPECT_THAT(assigned(asked, allocation), ElementsAre(1, 0, 1));
  const auto plan = make_plan(asked, allocation);
  EXPECT_THAT(plan->hosts[0].ranks, ElementsAre(1));
  EXPECT_EQ(plan->ranks[2].local_rank, 1);
  asked.apps[0].ranks = 2;
  EXPECT_THAT(assigned(asked, allocation), ElementsAre(1, 0));
  asked.apps[0].ranks = 4;
  EXPECT_THAT(refusal(asked, allocation), HasSubstr("more ranks than entries"));
}

Request placed(std::vector<RankPlace> places, std::optional<int> ranks = {}) {
  Request asked = request(ranks);
  for (RankPlace& place : places) place.from = "ranks:1";
  asked.rank_places = std::move(places);
  return asked;
}

TEST(Assign, RankfilePlacesEachRank) {
  Allocation allocation = hosts({2, 2});
  allocation.hosts[1].other_names = {"alias"};
  const Request asked = placed({{1, "n0", "2-3", ""}, {0, "n1", {}, ""}, {2, "+n1", {}, ""}, {3, "n0", {}, ""}});
  EXPECT_THAT(assigned(asked, allocation), ElementsAre(1, 0, 1, 0));
  EXPECT_EQ(make_plan(asked, allocation)->ranks[1].slots, "2-3");
  EXPECT_THAT(assigned(placed({{0, "alias", {}, ""}}), allocation), ElementsAre(1));
}

TEST(Assign, RankfileAcceptsLocalhostForThisMachine) {
  Allocation allocation = hosts({2, 2});
  EXPECT_THAT(refusal(placed({{0, "localhost", {}, ""}}), allocation), HasSubstr("unknown host \"localhost\""));
  allocation.hosts[1].local = true;
  EXPECT_THAT(assigned(placed({{0, "localhost", {}, ""}}), allocation), ElementsAre(1));
}

TEST(Assign, RejectsRankfilesWithMissingRanks) {
  const Allocation two = hosts({2, 2});
  EXPECT_THAT(refusal(placed({{0, "n9", {}, ""}}), two), HasSubstr("ranks:1: unknown host \"n9\""));
  EXPECT_THAT(refusal(placed({{0, "+n2", {}, ""}}), two), HasSubstr("unknown host \"+n2\": expected +n0 to +n1"));
  EXPECT_THAT(refusal(placed({{0, "n0", {}, ""}, {0, "n1", {}, ""}}), two), HasSubstr("duplicate rank \"0\""));
  EXPECT_THAT(refusal(placed({{0, "n0", {}, ""}}, 2), two), HasSubstr("missing rank 1"));
  EXPECT_THAT(refusal(placed({{0, "n0", {}, ""}, {1, "n0", {}, ""}}, 1), two), HasSubstr("unknown rank \"1\""));
  EXPECT_THAT(refusal(placed({{0, "n0", {}, ""}, {1, "n0", {}, ""}, {2, "n0", {}, ""}}), two),
              HasSubstr("more ranks than slots"));
}

TEST(Assign, MaxSlotsAppliesEvenWithOversubscribe) {
  Allocation allocation = hosts({2, 2});
  allocation.hosts[0].max_slots = 2;
  Request asked = request(6);
  asked.oversubscribe = true;
  EXPECT_THAT(assigned(asked, allocation), ElementsAre(0, 0, 1, 1, 1, 1));
  allocation.hosts[1].max_slots = 3;
  EXPECT_THAT(refusal(asked, allocation), HasSubstr("more ranks than max_slots allows: 6 ranks requested, 5 placed"));
  asked = per_host(3);
  asked.oversubscribe = true;
  EXPECT_THAT(refusal(asked, allocation), testing::ContainsRegex("n0 +2 +3 ranks"));
}

/// 10,000 hosts and 80,000 ranks, with every placement, within the time of a linear algorithm (a quadratic one would
/// fail).
TEST(Assign, TenThousandHostsInLinearTime) {
  Allocation allocation = hosts(std::vector<int>(10'000, 8));
  for (size_t i = 0; i < allocation.hosts.size(); ++i) {
    allocation.hosts[i].max_slots = 8 + static_cast<int>(i % 5);
    allocation.hosts[i].env = {"A=" + std::to_string(i)};
  }
  Request by_slot = request(80'000);
  Request by_node = by_slot;
  by_node.binding.map_by = MapBy::node;
  Request rankfile = by_slot;
  for (int rank = 0; rank < 80'000; ++rank)
    rankfile.rank_places.push_back({rank, "n" + std::to_string(rank % 10'000), {}, ""});
  for (const Request& asked : {by_slot, by_node, per_host(8), rankfile}) {
    const std::clock_t start = std::clock();
    EXPECT_EQ(assigned(asked, allocation).size(), 80'000U);
    EXPECT_LT(std::clock() - start, 3 * CLOCKS_PER_SEC);
  }
  by_slot.apps[0].ranks = 95'000;
  by_slot.oversubscribe = true;
  EXPECT_EQ(assigned(by_slot, allocation).size(), 95'000U);
}

}  // namespace
}  // namespace dlaunch::plan
