#include "ascend/ranktable_arguments.h"

#include <gmock/gmock.h>

#include "ascend/tables/hccn.h"

namespace dlaunch::ranktable {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using Text = std::optional<std::string>;

std::vector<long> devices(const Text& numbers, const Text& visible = {}) {
  const auto chosen = choose_devices(numbers, visible);
  EXPECT_TRUE(chosen) << to_text(chosen.error());
  return chosen ? chosen->devices : std::vector<long>{};
}

std::string error(const Text& numbers, const Text& visible = {}) {
  const auto chosen = choose_devices(numbers, visible);
  EXPECT_FALSE(chosen) << numbers.value_or("");
  return chosen ? "" : to_text(chosen.error());
}

TEST(DeviceNumbers, MatchHcclTools) {
  EXPECT_THAT(devices({}), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_THAT(devices("[4,8)"), ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(devices("[0, 2)"), ElementsAre(0, 1));
  EXPECT_THAT(devices(" [ 8 , 10 ) "), ElementsAre(8, 9));
  EXPECT_THAT(devices("[0,16)"), testing::SizeIs(16));
  EXPECT_THAT(devices("4-5"), ElementsAre(4, 5));
  EXPECT_THAT(devices("0,2"), ElementsAre(0, 2));
}

TEST(DeviceNumbers, CountInVisibleDevices) {
  EXPECT_THAT(devices("[0,2)", "4,5,6,7"), ElementsAre(4, 5));
  EXPECT_THAT(devices({}, "6, 4"), ElementsAre(6, 4));
  EXPECT_THAT(choose_devices("[2,4)", "4,5,6,7")->numbers, ElementsAre(2, 3));
  EXPECT_THAT(error("[4,8)", "4,5,6,7"),
              HasSubstr("invalid device \"4\": expected 0 to 3, the positions in --visible_devices 4,5,6,7"));
}

TEST(DeviceNumbers, RejectsInvalidNumbers) {
  for (const char* text : {"", "8", "[0,8]", "[0,8", "0,8)", "[,)", "[0)", "[)", "[", "[a,b)", "[-1,2)", "[0,8,9)",
                           "[0,65)", "[0,99999999999)", "7-4"}) {
    if (std::string(text) == "8") continue;  // one device
    EXPECT_THAT(error(text), HasSubstr("--device_num")) << text;
  }
  EXPECT_THAT(error("[3,3)"), HasSubstr("expected at least 1 device"));
  EXPECT_THAT(error("[5,3)"), HasSubstr("expected at least 1 device"));
  for (const char* text : {"", "a", "0,,1", "0-3", "-1"})
    EXPECT_THAT(error({}, text), HasSubstr("--visible_devices")) << text;
  EXPECT_THAT(error({}, "1,1"), HasSubstr("duplicate device \"1\""));
}

TEST(Hccn, ParsesTheOutputOfTheTool) {
  EXPECT_EQ(parse_hccn_tool("ipaddr:192.168.100.101\nnetmask:255.255.255.0\n"), "192.168.100.101");
  EXPECT_EQ(parse_hccn_tool("ipaddr: fd00::1\r\n"), "fd00::1");
  for (const char* text :
       {"", "netmask:255.255.0.0\n", "ipaddr:\n", "Cmd os hccn_tool execute failed!\n", "ipaddr:none"})
    EXPECT_FALSE(parse_hccn_tool(text)) << text;
}

TEST(Hccn, ParsesTheConfigurationFile) {
  EXPECT_THAT(
      parse_hccn_conf("address_0=10.0.0.1\nnetmask_0=255.0.0.0\r\n address_12 = 10.0.0.2 \r\n#address_3=10.0.0.3\n"
                      "address_4=\naddress_x=10.0.0.4\naddress_5\naddress_6=10.0.0.6"),
      ElementsAre(Pair(0, "10.0.0.1"), Pair(6, "10.0.0.6"), Pair(12, "10.0.0.2")));
}

}  // namespace
}  // namespace dlaunch::ranktable
