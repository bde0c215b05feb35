#include <gmock/gmock.h>

#include "dlaunch/plan.h"
#include "requests.h"

namespace dlaunch::plan {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<int> devices_of(const Plan& plan) {
  std::vector<int> devices;
  for (const Rank& rank : plan.ranks) devices.push_back(rank.device.value_or(-1));
  return devices;
}

std::vector<std::string> hosts_of(const Plan& plan) {
  std::vector<std::string> names;
  for (const Rank& rank : plan.ranks) names.push_back(plan.hosts.at(static_cast<size_t>(rank.host)).host.name);
  return names;
}

std::string refusal(const Request& request, const Allocation& allocation) {
  const auto plan = make_plan(request, allocation);
  if (plan) return "not refused";
  EXPECT_EQ(plan.error().exit_code, 2);
  return to_text(plan.error());
}

TEST(MakePlan, StartsARankPerDeviceOrSlotWithoutN) {
  EXPECT_EQ(make_plan(request({}), local(2, 8))->ranks.size(), 8U);
  EXPECT_EQ(make_plan(request({}), local(6))->ranks.size(), 6U);
  EXPECT_EQ(make_plan(request({}), hosts({3, 4}))->ranks.size(), 7U);
}

TEST(MakePlan, SkipsHostsWithoutDevicesIfOthersHaveDevices) {
  Allocation allocation = hosts({8, 8});
  allocation.hosts[1] = host("gpu", 8, 4);
  EXPECT_THAT(hosts_of(*make_plan(request({}), allocation)), ElementsAre("gpu", "gpu", "gpu", "gpu"));
}

TEST(MakePlan, DevicesInTheUsersOrder) {
  Allocation allocation = local(8, 4);
  allocation.hosts[0].devices = {6, 2, 5};
  EXPECT_THAT(devices_of(*make_plan(request(2), allocation)), ElementsAre(6, 2));
}

TEST(MakePlan, RejectsMoreRanksThanDevicesWithATable) {
  EXPECT_EQ(refusal(request(9), local(16, 8)),
            "dlaunch: more ranks than devices: 9 ranks requested, 8 devices available\n"
            "    host  cpus  cpus from      devices  devices from    requested\n"
            "    here  16    affinity mask  8        --fake-devices  9 ranks\n"
            "dlaunch:   add --oversubscribe to let ranks share devices\n");
}

TEST(MakePlan, RejectsAMissingWorkingDirectoryIfARankNeedsIt) {
  Request asked = request(2);
  asked.cwd = "";
  EXPECT_EQ(refusal(asked, local(2)),
            "dlaunch: the working directory does not exist\n"
            "dlaunch:   run dlaunch in an existing directory, or set a directory with --wdir\n");
  asked.apps[0].wdir = "/elsewhere";
  EXPECT_EQ(make_plan(asked, local(2))->apps.at(0).wdir, "/elsewhere");
}

TEST(MakePlan, OversubscribeSharesDevicesInTurnWithARemark) {
  Request asked = request(5);
  asked.oversubscribe = true;
  const auto plan = make_plan(asked, local(16, 2));
  ASSERT_TRUE(plan);
  EXPECT_THAT(devices_of(*plan), ElementsAre(0, 1, 0, 1, 0));
  EXPECT_THAT(plan->remarks, ElementsAre("5 ranks on 2 devices: ranks share devices"));
}

TEST(MakePlan, MoreRanksThanCpusIsANoteOnly) {
  const auto plan = make_plan(request(8), local(2));
  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->remarks, ElementsAre("8 ranks on 2 CPUs (affinity mask): ranks share cores"));
  EXPECT_THAT(make_plan(request(2), local(2))->notes, IsEmpty());
}

TEST(MakePlan, RejectsMoreRanksThanGivenSlots) {
  EXPECT_EQ(refusal(request(6), hosts({1, 4})),
            "dlaunch: more ranks than slots: 6 ranks requested, 5 slots available\n"
            "    host  slots  slots from  devices  devices from  requested\n"
            "    n0    1      hostfile:1  0        -             2 ranks\n"
            "dlaunch:   add --oversubscribe to let ranks share slots\n");
  Request asked = request(6);
  asked.oversubscribe = true;
  EXPECT_THAT(hosts_of(*make_plan(asked, hosts({1, 4}))), ElementsAre("n0", "n0", "n1", "n1", "n1", "n1"));
}

TEST(MakePlan, ErrorForManyHostsIsShort) {
  const std::string text = refusal(request(300), hosts(std::vector<int>(100, 2)));
  EXPECT_THAT(text, AllOf(HasSubstr("n15  "), HasSubstr("    … and 84 more hosts\n"), Not(HasSubstr("n16 "))));
}

TEST(MakePlan, ContainsOnlyHostsWithRanks) {
  const auto plan = make_plan(request(3), hosts({0, 2, 0, 2, 5}));
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->hosts.size(), 2U);
  EXPECT_THAT(plan->hosts[0].ranks, ElementsAre(0, 1));
  EXPECT_THAT(plan->hosts[1].ranks, ElementsAre(2));
  EXPECT_EQ(plan->ranks[2].host, 1);
  EXPECT_EQ(plan->ranks[2].local_rank, 0);
}

TEST(MakePlan, MapByNodeGoesRoundRobin) {
  Request asked = request(5);
  asked.binding.map_by = MapBy::node;
  const auto plan = make_plan(asked, hosts({2, 3}));
  EXPECT_THAT(hosts_of(*plan), ElementsAre("n0", "n1", "n0", "n1", "n1"));
  EXPECT_THAT(plan->hosts[1].ranks, ElementsAre(1, 3, 4));
  EXPECT_EQ(plan->ranks[3].local_rank, 1);
}

TEST(MakePlan, ProgramsGetRanksInTheirOrder) {
  Request asked = request(2);
  asked.apps.push_back(app({"eval"}, 1));
  asked.apps.push_back(app({"serve"}));
  const auto plan = make_plan(asked, local(8));
  ASSERT_TRUE(plan);
  std::vector<int> apps;
  for (const Rank& rank : plan->ranks) apps.push_back(rank.app);
  EXPECT_THAT(apps, ElementsAre(0, 0, 1, 2, 2, 2, 2, 2));
  EXPECT_EQ(plan->apps[2].first_rank, 3);
  EXPECT_EQ(plan->apps[2].ranks, 5);
}

TEST(MakePlan, RejectsTwoProgramsWithoutN) {
  Request asked = request({});
  asked.apps.push_back(app({"eval"}));
  EXPECT_THAT(refusal(asked, local(8)), HasSubstr("missing -n for 2 of 2 programs"));
  asked.apps[1].ranks = 8;
  EXPECT_THAT(refusal(asked, local(8)),
              HasSubstr("not enough slots for a program without -n: the hosts have 8, the other programs use 8"));
}

TEST(MakePlan, RejectsInvalidPrograms) {
  EXPECT_THAT(refusal(request(0), local(2)), HasSubstr("-n: invalid number \"0\": expected 1 or more"));
  EXPECT_THAT(refusal(request(-3), local(2)), HasSubstr("-n: invalid number \"-3\": expected 1 or more"));
  EXPECT_THAT(refusal(request(2'000'000'000), local(2)), HasSubstr("more than 1000000 ranks"));
  EXPECT_THAT(refusal(request(1), {}), HasSubstr("missing host"));
  EXPECT_THAT(refusal(request({}), hosts({0, 0})), HasSubstr("the hosts have 0 slots"));
  Request nothing = request(1);
  nothing.apps[0].argv.clear();
  EXPECT_THAT(refusal(nothing, local(2)), HasSubstr("missing program"));
  nothing.apps.clear();
  EXPECT_THAT(refusal(nothing, local(2)), HasSubstr("missing program"));
}

TEST(MakePlan, RejectsArgumentsAboveTheLimitOfLinux) {
  Request asked = request(2);
  asked.apps[0].env = {{"BIG", std::string(5 << 20, 'v')}};
  EXPECT_TRUE(make_plan(asked, local(2)));
  asked.apps[0].argv.emplace_back(2 << 20, 'a');
  EXPECT_THAT(refusal(asked, local(2)),
              AllOf(HasSubstr("the limit of Linux is 6291456"), HasSubstr("the longest variable is BIG\n")));
  asked.apps[0].argv.pop_back();
  Allocation elsewhere = hosts({2});
  elsewhere.hosts[0].env = {"ITS=" + std::string(2 << 20, 'v')};
  EXPECT_THAT(refusal(asked, elsewhere), HasSubstr("the limit of Linux is 6291456"));
}

TEST(MakePlan, RejectsInvalidVariables) {
  for (const EnvSetting& bad : std::vector<EnvSetting>{{"", "x"}, {"A=B", {}}, {std::string("A\0B", 3), "x"}}) {
    Request asked = request(1);
    asked.apps[0].env = {bad};
    EXPECT_THAT(refusal(asked, local(2)), HasSubstr("invalid variable name"));
  }
  Request asked = request(1);
  asked.apps[0].env = {{"SECRET", std::string("hush\0", 5)}};
  EXPECT_THAT(refusal(asked, local(2)), AllOf(HasSubstr("SECRET: invalid NUL byte"), Not(HasSubstr("hush"))));
}

TEST(MakePlan, WorkingDirectoryIsTheAppsOrTheLaunchers) {
  Request asked = request(1);
  asked.apps.push_back(app({"b"}, 1));
  asked.apps[1].wdir = "/elsewhere";
  const auto plan = make_plan(asked, local(2));
  EXPECT_EQ(plan->apps[0].wdir, "/work");
  EXPECT_EQ(plan->apps[1].wdir, "/elsewhere");
}

TEST(MakePlan, PlansTenThousandHosts) {
  const auto plan = make_plan(request({}), hosts(std::vector<int>(10'000, 8)));
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->ranks.size(), 80'000U);
  EXPECT_EQ(plan->ranks.back().host, 9'999);
  EXPECT_EQ(plan->ranks.back().local_rank, 7);
  EXPECT_THAT(plan->hosts.back().ranks, ElementsAre(79'992, 79'993, 79'994, 79'995, 79'996, 79'997, 79'998, 79'999));
}

TEST(MakePlan, BindsByCountUnlessAHostIsCrowded) {
  Request asked = request(2);
  asked.bind_by_count = true;
  EXPECT_EQ(make_plan(asked, hosts({2}))->binding.bind_to, BindTo::core);
  asked.apps[0].ranks = 3;
  EXPECT_EQ(make_plan(asked, hosts({4}))->binding.bind_to, BindTo::numa);
  asked.oversubscribe = true;
  EXPECT_EQ(make_plan(asked, hosts({2}))->binding.bind_to, BindTo::none);
}

TEST(MakePlan, CpuListAppliesToRanksWithoutOwnSlots) {
  Request asked = request(2);
  asked.cpu_list = "0-3";
  EXPECT_EQ(make_plan(asked, hosts({2}))->ranks.at(1).slots, "0-3");
}

}  // namespace
}  // namespace dlaunch::plan
