#include "pmix/bridge/registry.h"

#include <gmock/gmock.h>

#include <cstring>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "lib_pmix.h"

namespace dlaunch::pmix {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

wire::PmixWorld placed(std::vector<std::uint32_t> hosts_and_ranks) {
  wire::PmixWorld world;
  world.placed = std::move(hosts_and_ranks);
  return world;
}

TEST(HostsOfRanks, ExpandBlocks) {
  EXPECT_THAT(hosts_of_ranks(placed({0, 2, 1, 1, 0, 1}), 2), ElementsAre(0, 0, 1, 0));
  EXPECT_THAT(hosts_of_ranks(placed({1, 0, 0, 1}), 2), ElementsAre(0));
  EXPECT_THAT(hosts_of_ranks(placed({}), 2), IsEmpty());
}

TEST(HostsOfRanks, AreEmptyForAnInvalidWorld) {
  EXPECT_THAT(hosts_of_ranks(placed({0, 1, 2, 1}), 2), IsEmpty()) << "a host that the job has not";
  EXPECT_THAT(hosts_of_ranks(placed({0, 1u << 20, 0, 1}), 2), IsEmpty()) << "more ranks than a world may have";
  EXPECT_THAT(hosts_of_ranks(placed({0, ~0u}), 2), IsEmpty());
}

/// The key and the value of each info, as text.
std::map<std::string, std::string> texts(std::span<const pmix_info_t> infos) {
  std::map<std::string, std::string> found;
  for (const pmix_info_t& info : infos) {
    const pmix_value_t& value = info.value;
    std::string& text = found[info.key];
    if (value.type == PMIX_STRING) text = value.data.string;
    if (value.type == PMIX_UINT32) text = std::to_string(value.data.uint32);
    if (value.type == PMIX_UINT16) text = std::to_string(value.data.uint16);
    if (value.type == PMIX_PROC_RANK) text = std::to_string(value.data.rank);
    if (value.type == PMIX_BOOL) text = value.data.flag ? "yes" : "no";
    if (value.type == PMIX_PROC) text = value.data.proc->nspace + (':' + std::to_string(value.data.proc->rank));
  }
  return found;
}

class Describe : public LibPmix {
 protected:
  Describe() {
    start.node = 0;
    start.directory = "/run/job";
    world.space = "job";
    world.first = 10;
    world.universe = 8;
    world.of_program = {1, 2};
    world.placed = {0, 2, 1, 1};
  }
  bool run() {
    hosts = hosts_of_ranks(world, names.size());
    return describe({start, world, names, hosts, earlier, "/run/job/job"}, infos);
  }
  std::map<std::string, std::string> of_job() { return texts({infos.data(), infos.size()}); }
  std::vector<std::map<std::string, std::string>> of_ranks() {
    std::vector<std::map<std::string, std::string>> found;
    for (const pmix_info_t& info : std::span(infos.data(), infos.size())) {
      if (std::strcmp(info.key, PMIX_PROC_INFO_ARRAY) != 0) continue;
      const pmix_data_array_t& array = *info.value.data.darray;
      found.push_back(texts({static_cast<const pmix_info_t*>(array.array), array.size}));
    }
    return found;
  }

  wire::PmixStart start;
  wire::PmixWorld world;
  std::vector<std::string> names{"n0", "n1"};
  std::vector<std::uint32_t> hosts;
  std::vector<std::uint16_t> earlier{3, 0};
  Infos infos;
};

TEST_F(Describe, DescribesTheJob) {
  ASSERT_TRUE(run());
  auto job = of_job();
  EXPECT_EQ(job[PMIX_JOBID], "job");
  EXPECT_EQ(job[PMIX_UNIV_SIZE], "8");
  EXPECT_EQ(job[PMIX_JOB_SIZE], "3");
  EXPECT_EQ(job[PMIX_JOB_NUM_APPS], "2");
  EXPECT_EQ(job[PMIX_NODEID], "0");
  EXPECT_EQ(job[PMIX_NODE_SIZE], "5") << "with the ranks of earlier worlds";
  EXPECT_EQ(job[PMIX_LOCAL_SIZE], "2");
  EXPECT_EQ(job[PMIX_LOCAL_PEERS], "0,1");
  EXPECT_EQ(job[PMIX_LOCALLDR], "0");
  EXPECT_EQ(job[PMIX_TMPDIR], "/run/job");
  EXPECT_EQ(job[PMIX_NSDIR], "/run/job/job");
  EXPECT_EQ(job[PMIX_NODE_OVERSUBSCRIBED], "no");
  EXPECT_TRUE(job.contains(PMIX_NODE_MAP) && job.contains(PMIX_PROC_MAP));
  EXPECT_FALSE(job.contains(PMIX_SPAWNED));
}

TEST_F(Describe, DescribesEachRank) {
  ASSERT_TRUE(run());
  auto ranks = of_ranks();
  ASSERT_EQ(ranks.size(), 3u);
  const auto all = [&](const char* key) {
    std::string text;
    for (auto& rank : ranks) text += (text.empty() ? "" : " ") + rank[key];
    return text;
  };
  EXPECT_EQ(all(PMIX_RANK), "0 1 2");
  EXPECT_EQ(all(PMIX_LOCAL_RANK), "0 1 0");
  EXPECT_EQ(all(PMIX_NODE_RANK), "3 4 0") << "after the ranks of earlier worlds";
  EXPECT_EQ(all(PMIX_NODEID), "0 0 1");
  EXPECT_EQ(all(PMIX_HOSTNAME), "n0 n0 n1");
  EXPECT_EQ(all(PMIX_APPNUM), "0 1 1");
  EXPECT_EQ(all(PMIX_APP_RANK), "0 0 1");
  EXPECT_EQ(all(PMIX_GLOBAL_RANK), "10 11 12");
  EXPECT_EQ(ranks[1][PMIX_PROCDIR], "/run/job/job/1");
  EXPECT_FALSE(ranks[2].contains(PMIX_PROCDIR)) << "it is on another host";
}

TEST_F(Describe, DescribesTheSpawningRank) {
  world.parent = "parent";
  world.parent_rank = 4;
  ASSERT_TRUE(run());
  EXPECT_EQ(of_job()[PMIX_SPAWNED], "yes");
  EXPECT_EQ(of_job()[PMIX_PARENT_ID], "parent:4");
}

/// libpmix 5 numbers hosts by their position in the map. A host without ranks of this world follows the others.
TEST_F(Describe, HostWithoutRanksHasNoLocalRanks) {
  world.placed = {1, 3};
  ASSERT_TRUE(run());
  auto job = of_job();
  EXPECT_EQ(job[PMIX_NODEID], "1");
  EXPECT_EQ(job[PMIX_NODE_SIZE], "3");
  EXPECT_FALSE(job.contains(PMIX_LOCAL_SIZE) || job.contains(PMIX_LOCAL_PEERS) || job.contains(PMIX_LOCALLDR));
  for (auto& rank : of_ranks()) EXPECT_EQ(rank[PMIX_NODEID], "0");
}

TEST_F(Describe, CountsAHostThatJoinedLater) {
  start.node = 2;
  earlier = {0, 0, 1};
  ASSERT_TRUE(run());
  EXPECT_EQ(of_job()[PMIX_NODEID], "2");
  EXPECT_EQ(of_job()[PMIX_NODE_SIZE], "1");
}

}  // namespace
}  // namespace dlaunch::pmix
