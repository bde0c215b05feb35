#include "plan/binding.h"

#include <gmock/gmock.h>

#include <set>

namespace dlaunch::plan {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Masks = std::vector<std::vector<std::uint32_t>>;

/// Linux's usual numbering: first threads of all cores first. 2x4x2 has core 0 = {0, 8}, core 4 (socket 1) = {4, 12}.
Topology machine(int sockets, int cores, int threads, const std::set<std::uint32_t>& without = {}) {
  Topology topology;
  for (int core = 0; core < sockets * cores; ++core) {
    for (int thread = 0; thread < threads; ++thread) {
      const auto os = static_cast<std::uint32_t>(thread * sockets * cores + core);
      if (!without.contains(os)) topology.pus.push_back({os, core, core / cores, core / cores});
    }
  }
  return topology;
}

Masks bind(const Topology& topology, BindTo bind_to, MapBy map_by, int ranks, RankBy rank_by = RankBy::slot) {
  const auto masks = bind_ranks(topology, {.bind_to = bind_to, .map_by = map_by, .rank_by = rank_by}, ranks, false);
  EXPECT_TRUE(masks) << to_text(masks.error());
  return masks.value_or(Masks{});
}

TEST(Binding, BindToNoneBindsNoRank) {
  EXPECT_THAT(bind(machine(2, 4, 2), BindTo::none, MapBy::socket, 2), ElementsAre(ElementsAre(), ElementsAre()));
  EXPECT_TRUE(bind_ranks({}, {}, 100, false));
}

TEST(Binding, BindsToConsecutiveCores) {
  for (const MapBy map_by : {MapBy::slot, MapBy::core, MapBy::node, MapBy::hwthread}) {
    EXPECT_EQ(bind(machine(2, 4, 2), BindTo::core, map_by, 5), (Masks{{0, 8}, {1, 9}, {2, 10}, {3, 11}, {4, 12}}));
  }
}

TEST(Binding, AlternatesBetweenSockets) {
  for (const MapBy map_by : {MapBy::socket, MapBy::numa}) {
    EXPECT_EQ(bind(machine(2, 4, 2), BindTo::core, map_by, 5), (Masks{{0, 8}, {4, 12}, {1, 9}, {5, 13}, {2, 10}}));
  }
}

TEST(Binding, BindsToThreadsByCoreOrConsecutively) {
  EXPECT_EQ(bind(machine(1, 2, 2), BindTo::hwthread, MapBy::hwthread, 4), (Masks{{0}, {2}, {1}, {3}}));
  EXPECT_EQ(bind(machine(1, 2, 2), BindTo::hwthread, MapBy::core, 4), (Masks{{0}, {1}, {2}, {3}}));
  EXPECT_EQ(bind(machine(2, 2, 2), BindTo::hwthread, MapBy::socket, 6), (Masks{{0}, {2}, {1}, {3}, {4}, {6}}));
}

Masks bind_several(const Topology& topology, BindingRequest request, int ranks) {
  const auto masks = bind_ranks(topology, request, ranks, false);
  EXPECT_TRUE(masks) << to_text(masks.error());
  return masks.value_or(Masks{});
}

TEST(Binding, BindsEachRankToSeveralCores) {
  const BindingRequest two{.bind_to = BindTo::core, .cores_per_rank = 2};
  EXPECT_EQ(bind_several(machine(1, 4, 2), two, 2), (Masks{{0, 1, 4, 5}, {2, 3, 6, 7}}));
  EXPECT_EQ(bind_several(machine(2, 3, 1), two, 3), (Masks{{0, 1}, {2, 3}, {4, 5}}));
  const BindingRequest by_socket{.bind_to = BindTo::core, .map_by = MapBy::socket, .cores_per_rank = 2};
  EXPECT_EQ(bind_several(machine(2, 3, 1), by_socket, 2), (Masks{{0, 1}, {3, 4}})) << "of one socket each";
  const BindingRequest threads{.bind_to = BindTo::hwthread, .cores_per_rank = 2};
  EXPECT_EQ(bind_several(machine(1, 2, 2), threads, 2), (Masks{{0, 2}, {1, 3}}));
}

TEST(Binding, BindsEachRankToAnEqualShareOfTheCores) {
  const BindingRequest share{.bind_to = BindTo::core, .cores_per_rank = kEqualShare};
  EXPECT_EQ(bind_several(machine(1, 4, 2), share, 2), (Masks{{0, 1, 4, 5}, {2, 3, 6, 7}}));
  EXPECT_EQ(bind_several(machine(1, 5, 1), share, 2), (Masks{{0, 1}, {2, 3}}));
  EXPECT_EQ(bind_several(machine(1, 2, 1), share, 2), (Masks{{0}, {1}}));
  EXPECT_FALSE(bind_ranks(machine(1, 2, 1), share, 3, false));
}

TEST(Binding, RejectsMoreRanksThanCores) {
  BindingRequest asked{.bind_to = BindTo::core, .cores_per_rank = 3};
  const auto masks = bind_ranks(machine(1, 4, 1), asked, 2, false);
  ASSERT_FALSE(masks);
  EXPECT_THAT(to_text(masks.error()), HasSubstr("3 separate cores"));
  EXPECT_EQ(bind_ranks(machine(1, 4, 1), asked, 2, true).value(), (Masks{{0, 1, 2}, {0, 1, 2}})) << "shared";
  EXPECT_FALSE(bind_ranks(machine(1, 2, 1), asked, 1, true)) << "there is no such place";
  asked.if_supported = true;
  EXPECT_EQ(bind_ranks(machine(1, 4, 1), asked, 2, false).value(), (Masks{{}, {}})) << "none is bound";
}

TEST(Binding, DefaultDependsOnTheNumberOfRanks) {
  EXPECT_EQ(bound_by_count({}, 2, false, false), (BindingRequest{.bind_to = BindTo::core, .if_supported = true}));
  EXPECT_EQ(bound_by_count({}, 2, false, true).bind_to, BindTo::hwthread);
  EXPECT_EQ(bound_by_count({.report = true}, 3, false, true),
            (BindingRequest{.bind_to = BindTo::numa, .map_by = MapBy::numa, .report = true, .if_supported = true}));
  EXPECT_EQ(bound_by_count({}, 2, true, false), BindingRequest{}) << "crowded";
  const BindingRequest cores{.bind_to = BindTo::core, .cores_per_rank = 2};
  EXPECT_EQ(bound_by_count(cores, 8, false, true), cores) << "asked for";
}

TEST(Binding, DefaultIsTheUnitOfMapBy) {
  for (const auto& [map_by, unit] : {std::pair{MapBy::core, BindTo::core}, std::pair{MapBy::hwthread, BindTo::hwthread},
                                     std::pair{MapBy::socket, BindTo::socket}, std::pair{MapBy::numa, BindTo::numa}}) {
    for (const size_t ranks : {1U, 3U}) {
      const BindingRequest bound = bound_by_count({.map_by = map_by}, ranks, false, true);
      EXPECT_EQ(bound, (BindingRequest{.bind_to = unit, .map_by = map_by, .if_supported = true})) << to_string(map_by);
    }
  }
  EXPECT_EQ(bound_by_count({.map_by = MapBy::node}, 3, false, false).bind_to, BindTo::numa);
}

TEST(Binding, WidensToTheSocketOrNode) {
  const std::vector<std::uint32_t> first = {0, 1, 4, 5};
  const std::vector<std::uint32_t> second = {2, 3, 6, 7};
  EXPECT_EQ(bind(machine(2, 2, 2), BindTo::socket, MapBy::core, 3), (Masks{first, first, second}));
  EXPECT_EQ(bind(machine(2, 2, 2), BindTo::numa, MapBy::numa, 3), (Masks{first, second, first}));
  EXPECT_EQ(bind(machine(2, 2, 2), BindTo::socket, MapBy::socket, 6).size(), 6U) << "sockets are shared by nature";
}

TEST(Binding, NumaNodesMayDifferFromSockets) {
  Topology topology = machine(2, 4, 1);
  for (Pu& pu : topology.pus) pu.numa = pu.core / 2;
  EXPECT_EQ(bind(topology, BindTo::numa, MapBy::numa, 5), (Masks{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 1}}));
  EXPECT_EQ(bind(topology, BindTo::core, MapBy::numa, 5), (Masks{{0}, {2}, {4}, {6}, {1}}));
  EXPECT_EQ(bind(topology, BindTo::numa, MapBy::socket, 4), (Masks{{0, 1}, {4, 5}, {0, 1}, {4, 5}}));
}

TEST(Binding, RankByOrdersThePlaces) {
  EXPECT_EQ(bind(machine(2, 2, 1), BindTo::core, MapBy::socket, 4, RankBy::core), (Masks{{0}, {1}, {2}, {3}}));
  EXPECT_EQ(bind(machine(2, 2, 1), BindTo::core, MapBy::core, 4, RankBy::socket), (Masks{{0}, {2}, {1}, {3}}));
  EXPECT_EQ(bind(machine(2, 2, 1), BindTo::core, MapBy::core, 4, RankBy::node), (Masks{{0}, {1}, {2}, {3}}));
}

TEST(Binding, BindsEveryRankToASingleCpu) {
  for (const BindTo bind_to : {BindTo::core, BindTo::hwthread, BindTo::socket, BindTo::numa}) {
    EXPECT_EQ(bind(machine(1, 1, 1), bind_to, MapBy::slot, 1), (Masks{{0}}));
  }
}

TEST(Binding, UsesOnlyAllowedCpus) {
  const Topology holes = machine(2, 4, 2, {0, 2, 10, 4, 5, 6, 12, 13, 14});  // cores 0 (half), 1, 3 | 7
  EXPECT_EQ(bind(holes, BindTo::core, MapBy::slot, 4), (Masks{{8}, {1, 9}, {3, 11}, {7, 15}}));
  EXPECT_EQ(bind(holes, BindTo::core, MapBy::socket, 4), (Masks{{8}, {7, 15}, {1, 9}, {3, 11}}));
  EXPECT_EQ(bind(holes, BindTo::socket, MapBy::socket, 2), (Masks{{1, 3, 8, 9, 11}, {7, 15}}));
  EXPECT_EQ(bind(holes, BindTo::hwthread, MapBy::core, 7), (Masks{{8}, {1}, {3}, {7}, {9}, {11}, {15}}));
}

TEST(Binding, RejectsTooManyRanksWithBothNumbers) {
  const auto cores = bind_ranks(machine(2, 4, 2), {.bind_to = BindTo::core}, 9, false);
  ASSERT_FALSE(cores);
  EXPECT_THAT(to_text(cores.error()), HasSubstr("9 ranks requested, 8 cores available"));
  EXPECT_EQ(cores.error().exit_code, 2);
  EXPECT_TRUE(bind_ranks(machine(2, 4, 2), {.bind_to = BindTo::hwthread}, 16, false));
  const auto threads = bind_ranks(machine(2, 4, 2), {.bind_to = BindTo::hwthread}, 17, false);
  ASSERT_FALSE(threads);
  EXPECT_THAT(to_text(threads.error()), HasSubstr("17 ranks requested, 16 hardware threads available"));
  EXPECT_FALSE(bind_ranks({}, {.bind_to = BindTo::socket}, 1, true));
}

TEST(Binding, OversubscribeReusesPlacesInOrder) {
  const auto masks = bind_ranks(machine(1, 2, 1), {.bind_to = BindTo::core}, 5, true);
  ASSERT_TRUE(masks);
  EXPECT_EQ(*masks, (Masks{{0}, {1}, {0}, {1}, {0}}));
}

/// For all machines and policies: separate cores under core, separate threads under hwthread, and every unit is used
/// exactly once.
TEST(Binding, RanksNeverShareBoundCoresOrThreads) {
  for (const auto& topology : {machine(2, 4, 2), machine(1, 1, 1), machine(4, 3, 1), machine(2, 4, 2, {0, 9, 3, 11})}) {
    std::set<int> cores;
    for (const Pu& pu : topology.pus) cores.insert(pu.core);
    for (const MapBy map_by : {MapBy::slot, MapBy::core, MapBy::hwthread, MapBy::socket, MapBy::numa, MapBy::node}) {
      for (const RankBy rank_by : {RankBy::slot, RankBy::node, RankBy::core, RankBy::socket}) {
        for (const BindTo bind_to : {BindTo::core, BindTo::hwthread}) {
          const size_t ranks = bind_to == BindTo::core ? cores.size() : topology.pus.size();
          std::set<std::uint32_t> used;
          size_t cpus = 0;
          for (const auto& mask : bind(topology, bind_to, map_by, static_cast<int>(ranks), rank_by)) {
            used.insert(mask.begin(), mask.end());
            cpus += mask.size();
          }
          EXPECT_EQ(cpus, topology.pus.size());
          EXPECT_EQ(used.size(), cpus);
        }
      }
    }
  }
}

TEST(Binding, BindsNearDevices) {
  const Topology topology = {.pus = {{0, 0, 0, 0}, {4, 0, 0, 0}, {1, 1, 0, 1}, {2, 2, 1, 3}}};
  EXPECT_EQ(bind_near(topology, {3, 0, 0, std::nullopt, 2}), (Masks{{2}, {0, 4}, {0, 4}, {}, {}}));
}

}  // namespace
}  // namespace dlaunch::plan
