#include "plan/spawn_plan.h"

#include <gmock/gmock.h>

#include "plan/environment.h"
#include "requests.h"

namespace dlaunch::plan {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using testing::StartsWith;

Plan planned(int ranks, const std::vector<int>& slots) {
  Request made = request(ranks);
  made.mpi = Mpi::automatic;
  return *make_plan(made, hosts(slots));
}

SpawnRequest spawn(int ranks, std::vector<std::string> on = {}) {
  return {0, {{.argv = {"child", "x"}, .ranks = ranks, .hosts = std::move(on)}}};
}

std::vector<int> hosts_of(const SpawnPlan& spawned) {
  std::vector<int> hosts;
  for (const Rank& rank : spawned.ranks) hosts.push_back(rank.host);
  return hosts;
}

TEST(PlanSpawn, FreeSlotsFirstThenTheLeastLoaded) {
  const Plan plan = planned(4, {1, 3});
  EXPECT_THAT(hosts_of(*plan_spawn(plan, spawn(4), {1, 1})), ElementsAre(1, 1, 0, 1));
  EXPECT_THAT(hosts_of(*plan_spawn(plan, spawn(4), {0, 3})), ElementsAre(0, 0, 1, 0));
}

TEST(PlanSpawn, UsesOnlyNamedHosts) {
  const Plan plan = planned(4, {1, 3});
  EXPECT_THAT(hosts_of(*plan_spawn(plan, spawn(3, {"n0"}), {1, 3})), ElementsAre(0, 0, 0));
  const auto spawned = plan_spawn(plan, spawn(1, {"n0", "n7"}), {1, 3});
  ASSERT_FALSE(spawned);
  EXPECT_EQ(spawned.error().what, "unknown host \"n7\"");
}

TEST(PlanSpawn, ConnectsToAHostWithoutARankFirst) {
  RoundPlan round(planned(2, {1, 1, 1, 2}));
  const Plan& plan = round.now();
  ASSERT_EQ(plan.hosts.size(), 2u);
  ASSERT_EQ(plan.spare.size(), 2u);
  EXPECT_THAT(plan_spawn(plan, spawn(3), {1, 0})->spare, ElementsAre(0, 1));
  EXPECT_THAT(plan_spawn(plan, spawn(1), {1, 0})->spare, IsEmpty()) << "free slots of hosts that are there come first";
  const auto first = plan_spawn(plan, spawn(2, {"n3"}), {1, 1});
  EXPECT_THAT(first->spare, ElementsAre(1));
  round.add_hosts(first->spare);
  EXPECT_EQ(plan.hosts[2].host.name, "n3");
  EXPECT_EQ(plan.spare[0].name, "n2");
  const auto again = plan_spawn(plan, spawn(2, {"n3"}), {1, 1, 0});
  EXPECT_THAT(again->spare, IsEmpty());
  EXPECT_THAT(hosts_of(*again), ElementsAre(2, 2));
  round.add(*again);
  EXPECT_THAT(rank_environment(plan, plan.ranks[3]), IsSupersetOf({"DLAUNCH_HOST=n3", "MPI_LOCALRANKID=1"}));
}

TEST(PlanSpawn, RejectsUnreachableHosts) {
  RoundPlan round(planned(1, {1, 1}));
  const Plan& plan = round.now();
  round.add_hosts({0});
  round.give_up(1);
  EXPECT_THAT(hosts_of(*plan_spawn(plan, spawn(2), {1, 0})), ElementsAre(0, 0));
  EXPECT_EQ(plan_spawn(plan, spawn(1, {"n1"}), {1, 0}).error().what, "cannot connect to n1");
}

TEST(PlanSpawn, ClosedHostsAreNotSpare) {
  Allocation given = hosts({1, 0, 1});
  given.hosts[2].max_slots = 0;
  Request made = request(1);
  made.mpi = Mpi::automatic;
  EXPECT_THAT(make_plan(made, given)->spare, IsEmpty());
}

TEST(PlanSpawn, SpareHostsMayNotSetVariablesWithAValuePerRank) {
  Allocation given = hosts({1, 1});
  given.hosts[1].env = {"DLAUNCH_RANK=7"};
  Request made = request(1);
  made.mpi = Mpi::automatic;
  EXPECT_FALSE(make_plan(made, given));
}

TEST(PlanSpawn, HostsAreNotSpareWithoutMpi) { EXPECT_THAT(make_plan(request(1), hosts({1, 1}))->spare, IsEmpty()); }

TEST(PlanSpawn, NewWorldsFollowAllOthers) {
  RoundPlan round(planned(3, {3}));
  const Plan& plan = round.now();
  auto spawned = plan_spawn(plan, {1, {{.argv = {"a"}, .ranks = 2}, {.argv = {"b"}, .ranks = 1}}}, {3});
  ASSERT_TRUE(spawned);
  EXPECT_EQ(round.add(*spawned), 2);
  ASSERT_EQ(plan.ranks.size(), 6u);
  EXPECT_EQ(plan.ranks[3].rank, 0);
  EXPECT_EQ(plan.ranks[5].rank, 2);
  EXPECT_EQ(plan.worlds.name(5), "2/2");
  EXPECT_EQ(plan.apps[static_cast<size_t>(plan.ranks[5].app)].argv, std::vector<std::string>{"b"});
  EXPECT_EQ(plan.apps[static_cast<size_t>(plan.ranks[5].app)].first_rank, 5);
  EXPECT_THAT(plan.hosts[0].ranks, ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(round.add(*plan_spawn(plan, spawn(1), {6})), 3);
  EXPECT_EQ(plan.worlds.name(6), "3/0");
}

TEST(PlanSpawn, SetsTheIdentityInTheNewWorld) {
  RoundPlan round(planned(3, {3}));
  const Plan& plan = round.now();
  SpawnRequest asked = spawn(2);
  asked.apps[0].env = {"A=1", "A=2", "PATH=/opt"};
  round.add(*plan_spawn(plan, asked, {3}));
  const auto env = rank_environment(plan, plan.ranks[4]);
  EXPECT_THAT(env, IsSupersetOf({"PMI_FD=60", "PMI_SPAWNED=1", "PMI_SIZE=2", "PMI_RANK=1", "MPI_LOCALRANKID=1",
                                 "MPI_LOCALNRANKS=2", "DLAUNCH_JOB_ID=job-1", "DLAUNCH_WORLD=2", "DLAUNCH_RANK=1",
                                 "DLAUNCH_SIZE=2", "A=2", "PATH=/opt"}));
  for (const char* name : {"RANK_ID=", "DEVICE_ID=", "A=1", "PATH=/usr", "PMI_SIZE=3"}) {
    EXPECT_THAT(env, Not(Contains(StartsWith(name)))) << name;
  }
  EXPECT_THAT(rank_environment(plan, plan.ranks[0]), Not(Contains(StartsWith("PMI_SPAWNED="))));
}

TEST(PlanSpawn, DirectoriesAreRelativeToTheSpawningProgram) {
  const Plan plan = planned(1, {1});
  SpawnRequest asked = spawn(1);
  EXPECT_EQ(plan_spawn(plan, asked, {1})->apps[0].wdir, "/work");
  asked.apps[0].wdir = "sub";
  EXPECT_EQ(plan_spawn(plan, asked, {1})->apps[0].wdir, "/work/sub");
  asked.apps[0].wdir = "/tmp";
  const auto spawned = plan_spawn(plan, asked, {1});
  EXPECT_EQ(spawned->apps[0].wdir, "/tmp");
  EXPECT_THAT(spawned->apps[0].env, Contains("PWD=/tmp"));
  EXPECT_TRUE(spawned->apps[0].wdir_chosen);
}

TEST(PlanSpawn, RejectsInvalidRequests) {
  Plan plan = planned(1, {1});
  const auto why = [&](const SpawnRequest& asked) { return plan_spawn(plan, asked, {1}).error().what; };
  EXPECT_EQ(why({0, {}}), "missing program");
  EXPECT_EQ(why({0, {{.argv = {""}}}}), "missing program");
  EXPECT_EQ(why(spawn(0)), "invalid number of processes \"0\"");
  EXPECT_EQ(why(spawn(kMostSpawned + 1)), "invalid number of processes \"4097\"");
  EXPECT_EQ(why(spawn(2'000'000'000)), "invalid number of processes \"2000000000\"");
  EXPECT_EQ(why({0, {{.argv = {"a"}, .env = {"=x"}}}}), "invalid variable \"=x\"");
  EXPECT_THAT(why({0, {{.argv = {std::string("a\0b", 3)}}}}), HasSubstr("NUL"));
  plan.worlds.begin(1);
  plan.ranks.resize(1 + kMostEverSpawned);
  EXPECT_THAT(why(spawn(1)), HasSubstr("too many spawned processes"));
  plan.sidecar.emplace().name = "scheduler";
  EXPECT_EQ(why(spawn(1)), "not supported: new processes in a job with a scheduler");
}

}  // namespace
}  // namespace dlaunch::plan
