#include "ascend/tables/hccn.h"

#include <gmock/gmock.h>

#include "dlaunch/error.h"

namespace dlaunch::ranktable {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(Hccn, UsesTheCommandsOfTheDocuments) {
  EXPECT_THAT(address_command(3), ElementsAre("hccn_tool", "-i", "3", "-ip", "-g"));
  EXPECT_THAT(netdetect_command(0, "192.98.92.131"),
              ElementsAre("hccn_tool", "-i", "0", "-netdetect", "-s", "address", "192.98.92.131"));
  EXPECT_THAT(net_health_command(7), ElementsAre("hccn_tool", "-i", "7", "-net_health", "-g"));
}

TEST(Hccn, ParsesNetHealth) {
  EXPECT_EQ(parse_net_health("net health status: Success\n"), "Success");
  EXPECT_EQ(parse_net_health("warning\r\n  net health status:  Fault \r\nmore"), "Fault");
  for (const char* text :
       {"", "Success", "net health status:", "net health status: \n", "the net health status: Fault"}) {
    EXPECT_EQ(parse_net_health(text), std::nullopt) << text;
  }
}

TEST(Hccn, ReadsAddressesFromTheToolThenFromTheFile) {
  const std::string conf = "address_0=10.0.0.9\naddress_1=10.0.0.1\n";
  const auto found = device_addresses({0, 1}, {{"ipaddr:10.0.0.5\n", 0}, {"no such device\n", 1}}, &conf);
  EXPECT_THAT(found.by_device, ElementsAre(Pair(0, "10.0.0.5"), Pair(1, "10.0.0.1")));
  EXPECT_EQ(found.conf_trouble, "");
}

TEST(Hccn, ReportsWhyAnAddressIsMissing) {
  const std::string conf = "address_5=10.0.0.1\n";
  struct Row {
    Answer answer;
    const char* trouble;
  };
  for (const Row& row :
       {Row{{"", kExitNotFound}, "not found in PATH"}, Row{{"ipaddr:10.0.0.1", kExitTimeout}, "timed out"},
        Row{{"x", 3}, "exited with 3"}, Row{{"x", 139}, "killed by signal 11"},
        Row{{"", kExitNotExecutable}, "cannot run"}, Row{{"ipaddr:none", 0}, "missing address"}}) {
    const auto found = device_addresses({0}, {row.answer}, &conf);
    EXPECT_THAT(found.by_device, IsEmpty());
    EXPECT_EQ(found.tool_trouble, row.trouble);
    EXPECT_EQ(found.conf_trouble, "missing key \"address_0\"");
  }
  EXPECT_EQ(device_addresses({0}, {{"", 1}}, nullptr).conf_trouble, "cannot read");
}

}  // namespace
}  // namespace dlaunch::ranktable
