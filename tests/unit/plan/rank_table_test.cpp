
#include <gmock/gmock.h>

#include "plan/environment.h"
#include "requests.h"

namespace dlaunch::plan {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

Result<Plan> planned(Request asked, const Allocation& allocation, const std::string& path = "") {
  asked.rank_table = true;
  auto plan = make_plan(asked, allocation);
  if (!plan) return plan;
  return with_rank_table(*std::move(plan), {"t.json", "{}", path});
}

TEST(RankTable, LocalRanksGetThePathOfTheFile) {
  const auto plan = planned(request(4), local(8, 4), "/cwd/t.json");
  ASSERT_TRUE(plan);
  for (const Rank& rank : plan->ranks) {
    const auto environment = rank_environment(*plan, rank);
    EXPECT_THAT(environment, Contains("RANK_TABLE_FILE=/cwd/t.json"));
    EXPECT_THAT(environment, Contains("DEVICE_NUM=4"));
  }
}

TEST(RankTable, RemoteRanksGetThePathFromTheAgent) {
  Request asked = request(4);
  asked.environment = {"RANK_TABLE_FILE=/outer", "DEVICE_NUM=9", "MINDSPORE_HCCL_CONFIG_PATH=/outer", "PATH=/bin"};
  const auto plan = planned(asked, hosts({3, 1}), "/cwd/t.json");
  ASSERT_TRUE(plan);
  for (const Rank& rank : plan->ranks) {
    for (const std::string& entry : rank_environment(*plan, rank)) {
      EXPECT_NE(variable_name(entry), "RANK_TABLE_FILE");
      EXPECT_NE(variable_name(entry), "MINDSPORE_HCCL_CONFIG_PATH");
    }
  }
  EXPECT_THAT(rank_environment(*plan, plan->ranks[0]), Contains("DEVICE_NUM=3"));
  EXPECT_THAT(rank_environment(*plan, plan->ranks[3]), Contains("DEVICE_NUM=1"));
}

TEST(RankTable, KeepsValuesOfTheUser) {
  Request asked = request(1);
  asked.apps[0].env = {{"RANK_TABLE_FILE", "/mine"}, {"DEVICE_NUM", "8"}};
  const auto plan = planned(asked, local(1), "/cwd/t.json");
  ASSERT_TRUE(plan);
  const auto environment = rank_environment(*plan, plan->ranks[0]);
  EXPECT_THAT(environment, Contains("RANK_TABLE_FILE=/mine"));
  EXPECT_THAT(environment, Contains("DEVICE_NUM=8"));
  EXPECT_THAT(environment, Not(Contains("RANK_TABLE_FILE=/cwd/t.json")));
  Allocation mine = local(1);
  mine.hosts[0].env = {"DEVICE_NUM=8"};
  EXPECT_THAT(to_text(planned(request(1), mine).error()), HasSubstr("env.DEVICE_NUM"));
}

TEST(RankTable, ConflictsWithOpenMpisVariables) {
  Request asked = request(2);
  asked.frameworks = {Framework::openmpi};
  EXPECT_THAT(to_text(planned(asked, local(8, 4)).error()), HasSubstr("conflicts with --env-for openmpi"));
  asked.frameworks = {Framework::mindspore, Framework::torch};
  EXPECT_TRUE(planned(asked, local(8, 4)));
}

TEST(RankTable, ThePlanShowsItsName) {
  const auto plan = planned(request(1), local(1));
  ASSERT_TRUE(plan);
  EXPECT_THAT(to_table(*plan), HasSubstr("rank table  t.json"));
  EXPECT_THAT(to_json(*plan), HasSubstr("\"rank_table\": \"t.json\""));
}

}  // namespace
}  // namespace dlaunch::plan
