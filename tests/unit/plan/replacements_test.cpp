#include "plan/replacements.h"

#include <gmock/gmock.h>

namespace dlaunch::plan {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

Host host(const std::string& name, std::vector<int> devices = {}) {
  Host made;
  made.name = name;
  made.slots = 2;
  made.devices = std::move(devices);
  return made;
}

Request request(int ranks, int spares) {
  Request made{.job_id = "job-1"};
  made.apps = {{.argv = {"true"}, .ranks = ranks}};
  made.spares = spares;
  made.restarts = 1;
  made.cwd = "/";
  return made;
}

std::vector<std::string> names(const Plan& plan) {
  std::vector<std::string> list;
  for (const PlannedHost& planned : plan.hosts) list.push_back(planned.host.name);
  return list;
}

TEST(Replacements, AreTheLastHostsWithoutRanks) {
  const auto plan = make_plan(request(4, 1), {.hosts = {host("a"), host("b"), host("c")}});
  ASSERT_TRUE(plan);
  EXPECT_THAT(names(*plan), ElementsAre("a", "b"));
  ASSERT_EQ(plan->replacements.size(), 1u);
  EXPECT_EQ(plan->replacements[0].name, "c");
}

Host spare(const std::string& name) {
  Host made = host(name);
  made.replacement = true;
  return made;
}

TEST(Replacements, IncludeHostsMarkedSpareInAHostfile) {
  const Allocation allocation{.hosts = {host("a"), host("b"), spare("c")}, .slots_are_limits = true};
  auto asked = request(4, 0);
  const auto plan = make_plan(asked, allocation);
  ASSERT_TRUE(plan);
  EXPECT_THAT(names(*plan), ElementsAre("a", "b"));
  ASSERT_EQ(plan->replacements.size(), 1u);
  EXPECT_EQ(plan->replacements[0].name, "c");

  const auto with_one_more = make_plan(request(2, 2), allocation);
  ASSERT_TRUE(with_one_more);
  EXPECT_THAT(names(*with_one_more), ElementsAre("a"));
  EXPECT_EQ(with_one_more->replacements.size(), 2u);

  asked.restarts = 0;
  const auto without_restarts = make_plan(asked, allocation);
  ASSERT_TRUE(without_restarts);
  EXPECT_THAT(names(*without_restarts), ElementsAre("a", "b"));
  EXPECT_TRUE(without_restarts->replacements.empty());

  asked.apps[0].ranks = 5;
  EXPECT_FALSE(make_plan(asked, allocation));
}

TEST(Replacements, RejectsSpareHostsOnly) {
  const auto plan = make_plan(request(1, 0), {.hosts = {spare("a")}});
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().where, "spare hosts");
}

TEST(Replacements, RejectsMoreSparesThanHosts) {
  const auto plan = make_plan(request(1, 2), {.hosts = {host("a"), host("b")}});
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().why, HasSubstr("2 hosts"));
}

TEST(Replacements, SpareHostGetsTheRanksOfALostHost) {
  const auto before = make_plan(request(4, 2), {.hosts = {host("a"), host("b"), host("c"), host("d")}});
  ASSERT_TRUE(before);
  ASSERT_EQ(find_replacement(*before, 1, {false, true}), 1);
  const Plan plan = with_replacement(*before, 1, 1, 3);
  EXPECT_THAT(names(plan), ElementsAre("a", "d"));
  EXPECT_EQ(plan.host(1).ranks, before->host(1).ranks);
  EXPECT_EQ(plan.host(1).since_round, 3);
  EXPECT_EQ(plan.host(0).since_round, 0);
  EXPECT_THAT(plan.rank(2).env, Contains("DLAUNCH_HOST=d"));
  EXPECT_THAT(plan.rank(1).env, Contains("DLAUNCH_HOST=a"));
  EXPECT_EQ(plan.replacements.size(), 1u);
  EXPECT_EQ(find_replacement(plan, 0, {false}), std::nullopt);
}

TEST(Replacements, SkipsHostsWithOtherDevices) {
  auto plan = make_plan(request(2, 2), {.hosts = {host("a", {0, 1}), host("b", {0}), host("c", {0, 1})}});
  ASSERT_TRUE(plan);
  ASSERT_EQ(find_replacement(*plan, 0, {true, true}), 1);
  EXPECT_THAT(names(with_replacement(*plan, 0, 1, 1)), ElementsAre("c"));
}

}  // namespace
}  // namespace dlaunch::plan
