#include "plan/environment.h"

#include <gmock/gmock.h>

#include <set>

#include "requests.h"

namespace dlaunch::plan {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using testing::StartsWith;
using testing::UnorderedElementsAre;

std::vector<std::string> env_of(const Request& request, const EnvSetting& setting) {
  AppRequest asked = request.apps.front();
  asked.env = {setting};
  return app_environment(request, asked, "/work").entries;
}

TEST(Environment, StartsFromTheLaunchersEnvironment) {
  const auto made = app_environment(request(1), request(1).apps[0], "/there");
  EXPECT_THAT(made.entries,
              ElementsAre("HOME=/home/u", "PATH=/usr/bin", "PYTHONUNBUFFERED=1", "PYTHONFAULTHANDLER=1", "PWD=/there"));
  EXPECT_THAT(made.notes, IsEmpty());
}

TEST(Environment, RemovesVariablesOfAnOuterJob) {
  Request inner = request(1);
  for (const std::string_view name : kRankVariables) inner.environment.push_back(std::string(name) + "=7");
  inner.environment.push_back("DLAUNCH_TIMEOUT=5");
  EXPECT_THAT(app_environment(inner, inner.apps[0], "/").entries,
              ElementsAre("HOME=/home/u", "PATH=/usr/bin", "DLAUNCH_TIMEOUT=5", "PYTHONUNBUFFERED=1",
                          "PYTHONFAULTHANDLER=1", "PWD=/"));
}

TEST(Environment, PythonsVariablesStayAsTheUserSetThem) {
  Request asked = request(1);
  asked.environment = {"PYTHONFAULTHANDLER=", "PYTHONUNBUFFERED="};
  EXPECT_THAT(app_environment(asked, asked.apps[0], "/").entries,
              ElementsAre("PYTHONFAULTHANDLER=", "PYTHONUNBUFFERED=", "PWD=/"));
}

TEST(Environment, SkipsMalformedEntriesOfTheLauncher) {
  Request asked = request(1);
  asked.environment = {"A=1", "no equals sign", "=C:=x", "B=", "A=2", "V=a=b\nc\x01\xff"};
  EXPECT_THAT(app_environment(asked, asked.apps[0], "/").entries,
              ElementsAre("A=2", "B=", "V=a=b\nc\x01\xff", "PYTHONUNBUFFERED=1", "PYTHONFAULTHANDLER=1", "PWD=/"));
}

TEST(Environment, LastSettingOfANameWins) {
  Request asked = request(1);
  asked.apps[0].env = {{"A", "1"}, {"HOME", "x=y"}, {"A", "2\n3"}};
  EXPECT_THAT(
      app_environment(asked, asked.apps[0], "/").entries,
      ElementsAre("HOME=x=y", "PATH=/usr/bin", "PYTHONUNBUFFERED=1", "PYTHONFAULTHANDLER=1", "PWD=/", "A=2\n3"));
}

TEST(Environment, NotesUnsetVariablesByName) {
  Request asked = request(1);
  asked.apps[0].env = {{"MISSING", {}}, {"NO_*", {}}, {"HOME", {}}, {"P*", {}}};
  EXPECT_THAT(app_environment(asked, asked.apps[0], "/").notes,
              ElementsAre("-x MISSING: not found in the environment of dlaunch",
                          "-x NO_*: not found in the environment of dlaunch"));
}

TEST(Environment, NotesAnUnsetVariableOnce) {
  Request asked = request(1);
  asked.apps[0].env = {{"MISSING", {}}};
  asked.apps.push_back(asked.apps[0]);
  EXPECT_EQ(make_plan(asked, local(2))->notes.size(), 1U);
}

TEST(Environment, PwdFollowsTheDirectoryUnlessGivenAValue) {
  Request asked = request(1);
  asked.environment = {"PWD=/launcher"};
  EXPECT_THAT(env_of(asked, {"PWD", {}}), Contains("PWD=/work"));
  EXPECT_THAT(env_of(asked, {"P*", {}}), Contains("PWD=/work"));
  EXPECT_THAT(env_of(asked, {"PWD", "/mine"}), Contains("PWD=/mine"));
}

TEST(Environment, PatternsExcludeOuterIdentityButNamesIncludeIt) {
  Request asked = request(1);
  asked.environment = {"DLAUNCH_RANK=5", "DLAUNCH_LABEL=x"};
  EXPECT_THAT(env_of(asked, {"DLAUNCH_*", {}}), Not(Contains(StartsWith("DLAUNCH_RANK="))));
  EXPECT_THAT(env_of(asked, {"DLAUNCH_RANK", {}}), Contains("DLAUNCH_RANK=5"));
}

TEST(Environment, SetsTheIdentityOfEachRank) {
  Allocation two = hosts({2, 2});
  two.hosts[1] = host("n1", 2, 2);
  two.hosts[1].devices = {4, 6};
  const auto plan = make_plan(request(4), two);
  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->ranks[3].env,
              ElementsAre("RANK_ID=3", "RANK_SIZE=4", "DEVICE_ID=6", "DLAUNCH_JOB_ID=job-1", "DLAUNCH_RANK=3",
                          "DLAUNCH_SIZE=4", "DLAUNCH_LOCAL_RANK=1", "DLAUNCH_LOCAL_SIZE=2", "DLAUNCH_NODE_RANK=1",
                          "DLAUNCH_NUM_NODES=2", "DLAUNCH_HOST=n1", "DLAUNCH_DEVICE=6"));
  EXPECT_THAT(plan->ranks[1].env, IsSupersetOf({"DEVICE_ID=1", "DLAUNCH_DEVICE=1", "DLAUNCH_HOST=n0"}));
  EXPECT_THAT(rank_environment(*plan, plan->ranks[3]), IsSupersetOf({"PATH=/usr/bin", "RANK_ID=3"}));
}

TEST(Environment, TheUsersValueOfARanksNameWinsForThatProgramOnly) {
  Request asked = request(1);
  asked.apps[0].env = {{"RANK_ID", "mine"}};
  asked.apps.push_back(app({"other"}, 1));
  const auto plan = make_plan(asked, local(2));
  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->ranks[0].env, Not(Contains(StartsWith("RANK_ID="))));
  EXPECT_THAT(rank_environment(*plan, plan->ranks[0]), Contains("RANK_ID=mine"));
  EXPECT_THAT(plan->ranks[1].env, Contains("RANK_ID=1"));
}

TEST(Environment, NamesAreUnique) {
  Request asked = request(3);
  for (const std::string_view name : kRankVariables) asked.environment.push_back(std::string(name) + "=outer");
  asked.environment.insert(asked.environment.end(), {"HOME=again", "PWD=/x"});
  asked.apps[0].env = {{"DLAUNCH_HOST", "h"}, {"DEVICE_ID", {}}, {"*", {}}, {"HOME", "z"}};
  const auto plan = make_plan(asked, local(4));
  ASSERT_TRUE(plan);
  for (const Rank& rank : plan->ranks) {
    std::set<std::string_view> names;
    const std::vector<std::string> environment = rank_environment(*plan, rank);
    for (const std::string& entry : environment) {
      EXPECT_TRUE(names.insert(variable_name(entry)).second) << variable_name(entry);
    }
    EXPECT_EQ(names.size(), 17U);
  }
}

}  // namespace
}  // namespace dlaunch::plan
