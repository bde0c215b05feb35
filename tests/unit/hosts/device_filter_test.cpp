// Tests --devices. named_test.cpp tests --include and --exclude.
#include "hosts/device_filter.h"

#include "entries.h"

namespace dlaunch::hosts {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Devices, ParseRangesAndLists) {
  EXPECT_THAT(*parse_devices("[4,8)"), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(*parse_devices(" [0, 2) "), ElementsAre(0, 1));
  EXPECT_THAT(*parse_devices("[8,12)"), ElementsAre(8, 9, 10, 11));
  EXPECT_THAT(*parse_devices("4-7"), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(*parse_devices("2,0"), ElementsAre(2, 0));
  EXPECT_THAT(*parse_devices("7, 0-1"), ElementsAre(7, 0, 1));
}

TEST(Devices, RejectMalformedLists) {
  for (const char* text : {"", "[4,8]", "[4,8", "4,8)", "[8,4)", "[4,4)", "[4)", "[,)", "[-1,2)", "[0,9999)", "x", "1,",
                           "3-1", "[0,2),4"}) {
    EXPECT_THAT(error_of(parse_devices(text)), HasSubstr("expected [4,8), 4-7 or 0,2")) << text;
  }
  EXPECT_THAT(error_of(parse_devices("0-2,1")), HasSubstr("duplicate device \"1\""));
}

TEST(Devices, ApplyToEveryHost) {
  plan::Allocation allocation;
  allocation.hosts.resize(2);
  allocation.hosts[0].name = "a";
  allocation.hosts[0].devices = {0, 1, 2, 3};
  allocation.hosts[0].device_kind = plan::DeviceKind::nvidia;
  allocation.hosts[1].name = "b";
  allocation.hosts[1].slots_unknown = true;
  ASSERT_TRUE(use_devices(allocation, {3, 2}));
  EXPECT_THAT(allocation.hosts[0].devices, ElementsAre(3, 2));
  EXPECT_EQ(allocation.hosts[0].device_kind, plan::DeviceKind::nvidia);
  EXPECT_THAT(allocation.hosts[1].devices, ElementsAre(3, 2));
  EXPECT_EQ(allocation.hosts[1].device_kind, plan::DeviceKind::named);
  EXPECT_EQ(allocation.hosts[1].slots, 2);
  EXPECT_THAT(error_of(use_devices(allocation, {0})), HasSubstr("unknown device \"0\" of a"));
}

}  // namespace
}  // namespace dlaunch::hosts
