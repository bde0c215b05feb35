#include "ascend/tables/rules.h"

#include <gmock/gmock.h>

namespace dlaunch::ranktable {
namespace {

using plan::DeviceKind;
using testing::ElementsAre;
using testing::IsEmpty;

/// A rank on each device of each host.
plan::Plan plan_of(const std::vector<std::vector<int>>& devices, DeviceKind kind = DeviceKind::ascend) {
  plan::Plan plan;
  for (size_t host = 0; host < devices.size(); ++host) {
    plan::PlannedHost planned;
    planned.host.name = "n" + std::to_string(host);
    planned.host.device_kind = kind;
    planned.host.devices = devices[host];
    for (const int device : devices[host]) {
      const int number = static_cast<int>(plan.ranks.size());
      planned.ranks.push_back(number);
      plan::Rank rank;
      rank.rank = number;
      rank.host = static_cast<int>(host);
      rank.device = device;
      plan.ranks.push_back(std::move(rank));
    }
    plan.hosts.push_back(std::move(planned));
  }
  return plan;
}

std::vector<std::string> broken(const plan::Plan& plan, Product product = Product::ascend910, bool stand_ins = false) {
  std::vector<std::string> texts;
  for (const BrokenRule& each : broken_rules(plan, product, stand_ins))
    texts.push_back(each.host + " " + each.what + ": " + each.rule);
  return texts;
}

const std::vector<int> kEight = {0, 1, 2, 3, 4, 5, 6, 7};
constexpr const char* kTwoNetworks =
    "expected 2 or 4 devices, either all in 0-3 or all in 4-7, because these are two networks";

TEST(PlanRules, AcceptsDocumentedLayouts) {
  for (const std::vector<int>& devices :
       std::vector<std::vector<int>>{{5}, {0, 1}, {6, 7}, {0, 1, 2, 3}, {7, 6, 5, 4}, kEight}) {
    EXPECT_THAT(broken(plan_of({devices})), IsEmpty());
  }
  EXPECT_THAT(broken(plan_of({kEight, kEight, kEight})), IsEmpty());
  EXPECT_THAT(broken(plan_of({{0, 1, 2}}), Product::a2), IsEmpty());
  EXPECT_THAT(broken(plan_of({{0, 15}, {3, 4}}), Product::a2), IsEmpty());
}

TEST(PlanRules, RejectsOtherLayouts) {
  EXPECT_THAT(
      broken(plan_of({{0, 1, 2}})),
      ElementsAre("n0 has 3 devices: expected 1, 2, 4 or 8 on a server of Ascend 910 (for A2, set --product a2)"));
  EXPECT_THAT(broken(plan_of({{0, 4}})), ElementsAre(std::string("n0 has devices 0,4: ") + kTwoNetworks));
  EXPECT_THAT(broken(plan_of({{2, 3, 4, 5}})), ElementsAre(std::string("n0 has devices 2-5: ") + kTwoNetworks));
  EXPECT_THAT(broken(plan_of({kEight, {0, 1, 2, 3}})),
              ElementsAre("n1 has 4 devices: expected 8 on each server of Ascend 910 in a table with several servers "
                          "(for A2, set --product a2)"));
  EXPECT_THAT(broken(plan_of({{8}})), ElementsAre("n0 has device 8: expected 0 to 7 (for A2, set --product a2)"));
  EXPECT_THAT(broken(plan_of({{0, 1}, {0}}), Product::a2),
              ElementsAre("n1 has 1 device: expected 2, as on the first host"));
}

TEST(PlanRules, CountsOnlyAscendDevicesAndStandIns) {
  for (const DeviceKind kind : {DeviceKind::nvidia, DeviceKind::amd, DeviceKind::fake, DeviceKind::named}) {
    EXPECT_THAT(broken(plan_of({{0, 1, 2}}, kind)), IsEmpty());
  }
  EXPECT_THAT(broken(plan_of({{0, 1, 2}}, DeviceKind::fake), Product::ascend910, true), testing::SizeIs(1));
  EXPECT_THAT(broken(plan_of({{0, 1, 2}}, DeviceKind::nvidia), Product::ascend910, true), IsEmpty());
  plan::Plan plan = plan_of({{0}});
  plan.ranks[0].device.reset();
  EXPECT_THAT(broken(plan), IsEmpty());
}

TEST(PlanRules, SharedDevicesCountOnce) { EXPECT_THAT(broken(plan_of({{0, 1, 0, 1, 0}})), IsEmpty()); }

}  // namespace
}  // namespace dlaunch::ranktable
