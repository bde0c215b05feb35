#include "plan/visible.h"

#include <gmock/gmock.h>

#include "plan/environment.h"
#include "requests.h"

namespace dlaunch::plan {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using testing::StartsWith;

/// A host with physical devices 4 to 7 of a kind; the launcher's list allows 6 and 4.
Allocation narrowed(DeviceKind kind) {
  Allocation here = local(4, 4);
  here.hosts[0].device_kind = kind;
  here.hosts[0].devices = {6, 4};
  here.hosts[0].seen = {6, 4};
  here.hosts[0].devices_from = "a list";
  return here;
}

std::vector<std::string> environment_of(Visible visible, const Allocation& allocation, size_t rank,
                                        const std::vector<EnvSetting>& chosen = {}) {
  Request asked = request(2);
  asked.environment.insert(asked.environment.end(), {"CUDA_VISIBLE_DEVICES=6,4", "ASCEND_RT_VISIBLE_DEVICES=6,4",
                                                     "HIP_VISIBLE_DEVICES=6,4", "ROCR_VISIBLE_DEVICES=4,5,6"});
  asked.visible = visible;
  asked.apps[0].env = chosen;
  const auto plan = make_plan(asked, allocation);
  if (!plan) return {to_text(plan.error())};
  return rank_environment(*plan, plan->ranks.at(rank));
}

TEST(Visible, UnchangedKeepsTheDevices) {
  EXPECT_THAT(environment_of(Visible::unchanged, narrowed(DeviceKind::nvidia), 1),
              IsSupersetOf({"CUDA_VISIBLE_DEVICES=6,4", "ROCR_VISIBLE_DEVICES=4,5,6", "DEVICE_ID=4"}));
}

TEST(Visible, CountsTheDeviceOfARankTableAmongVisibleDevices) {
  Request asked = request(2);
  asked.rank_table = true;
  const auto plan = make_plan(asked, narrowed(DeviceKind::ascend));
  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->ranks[1].env, IsSupersetOf({"DEVICE_ID=1", "DLAUNCH_DEVICE=4"}));
  Allocation whole = narrowed(DeviceKind::ascend);
  whole.hosts[0].seen.clear();
  EXPECT_THAT(make_plan(asked, whole)->ranks[1].env, IsSupersetOf({"DEVICE_ID=4", "DLAUNCH_DEVICE=4"}));
}

TEST(Visible, NotesDevicesHiddenByTheLaunchersList) {
  Request asked = request(2);
  Allocation named = narrowed(DeviceKind::ascend);
  named.hosts[0].devices = {4, 5};
  EXPECT_THAT(make_plan(asked, named)->notes, Contains(AllOf(HasSubstr("devices 5,"), HasSubstr("allows only 4,6"))));
  asked.visible = Visible::host;
  EXPECT_THAT(make_plan(asked, named)->notes, Not(Contains(HasSubstr("leaves"))));
  asked.visible = Visible::unchanged;
  EXPECT_THAT(make_plan(asked, narrowed(DeviceKind::ascend))->notes, Not(Contains(HasSubstr("leaves"))));
}

TEST(Visible, RankSeesItsDeviceByPhysicalNumber) {
  const auto nvidia = environment_of(Visible::rank, narrowed(DeviceKind::nvidia), 1);
  EXPECT_THAT(nvidia, IsSupersetOf({"CUDA_VISIBLE_DEVICES=4", "DEVICE_ID=0", "DLAUNCH_DEVICE=4"}));
  for (const char* name : {"ASCEND_RT_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"}) {
    EXPECT_THAT(nvidia, Not(Contains(StartsWith(name))));
  }
  EXPECT_THAT(environment_of(Visible::rank, narrowed(DeviceKind::ascend), 0),
              IsSupersetOf({"ASCEND_RT_VISIBLE_DEVICES=6", "DEVICE_ID=0"}));
  const auto amd = environment_of(Visible::rank, narrowed(DeviceKind::amd), 0);
  EXPECT_THAT(amd, Contains("HIP_VISIBLE_DEVICES=6"));
  EXPECT_THAT(amd, Not(Contains(StartsWith("ROCR_")))) << "HIP would count what ROCr leaves from 0";
  EXPECT_THAT(amd, Not(Contains(StartsWith("CUDA_")))) << "HIP reads it too";
}

TEST(Visible, HostListFollowsTheOrderOfRanks) {
  EXPECT_THAT(environment_of(Visible::host, narrowed(DeviceKind::nvidia), 1),
              IsSupersetOf({"CUDA_VISIBLE_DEVICES=6,4", "DEVICE_ID=1", "DLAUNCH_DEVICE=4"}));
  EXPECT_THAT(environment_of(Visible::host, local(4, 4), 1), Contains("CUDA_VISIBLE_DEVICES=0,1"))
      << "not the two that no rank has";
}

TEST(Visible, ListsSharedDevicesOnce) {
  Request asked = request(5);
  asked.oversubscribe = true;
  asked.visible = Visible::host;
  Allocation here = narrowed(DeviceKind::ascend);
  const auto plan = make_plan(asked, here);
  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->ranks[4].env, IsSupersetOf({"ASCEND_RT_VISIBLE_DEVICES=6,4", "DEVICE_ID=0", "DLAUNCH_DEVICE=6"}));
}

TEST(Visible, SetsAllDriversForUnknownKinds) {
  EXPECT_THAT(environment_of(Visible::rank, narrowed(DeviceKind::named), 0),
              IsSupersetOf({"CUDA_VISIBLE_DEVICES=6", "ASCEND_RT_VISIBLE_DEVICES=6", "HIP_VISIBLE_DEVICES=6"}));
}

TEST(Visible, EachHostHasItsOwnList) {
  Allocation two = hosts({1, 1});
  two.hosts[0] = host("n0", 1, 1);
  two.hosts[1] = host("n1", 1, 1);
  two.hosts[1].devices = {7};
  two.hosts[1].device_kind = DeviceKind::ascend;
  const auto second = environment_of(Visible::host, two, 1);
  EXPECT_THAT(second, Contains("ASCEND_RT_VISIBLE_DEVICES=7"));
  EXPECT_THAT(second, Not(Contains(StartsWith("CUDA_VISIBLE_DEVICES"))));
}

TEST(Visible, UuidsStayUuids) {
  Allocation here = narrowed(DeviceKind::nvidia);
  here.hosts[0].devices = {0, 1};
  here.hosts[0].uuids = {"GPU-8f", "MIG-3a"};
  EXPECT_THAT(environment_of(Visible::rank, here, 1), Contains("CUDA_VISIBLE_DEVICES=MIG-3a"));
  EXPECT_THAT(environment_of(Visible::host, here, 1), Contains("CUDA_VISIBLE_DEVICES=GPU-8f,MIG-3a"));
  here.hosts[0].device_kind = DeviceKind::amd;
  EXPECT_THAT(environment_of(Visible::rank, here, 1), Contains(HasSubstr("unknown numbers of the AMD devices")));
}

TEST(Visible, TheUsersOwnListWins) {
  const auto mine = environment_of(Visible::rank, narrowed(DeviceKind::nvidia), 1, {{"CUDA_VISIBLE_DEVICES", "3"}});
  EXPECT_THAT(mine, Contains("CUDA_VISIBLE_DEVICES=3"));
  EXPECT_THAT(mine, Not(Contains("CUDA_VISIBLE_DEVICES=4")));
}

TEST(Visible, RejectsHostsWithoutKnownDevices) {
  Allocation two = hosts({1, 1});
  two.hosts[0] = host("n0", 1, 1);
  EXPECT_THAT(environment_of(Visible::rank, two, 0),
              testing::ElementsAre(HasSubstr("--visible rank: unknown devices of n1")));
}

TEST(Visible, OrdinalsCountVisibleDevices) {
  const auto plan = make_plan(request(2), narrowed(DeviceKind::nvidia));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->ranks[0].ordinal, 0);
  EXPECT_EQ(plan->ranks[1].ordinal, 1);
  EXPECT_EQ(make_plan(request(2), local(2))->ranks[0].ordinal, std::nullopt);
}

}  // namespace
}  // namespace dlaunch::plan
