// What `dlaunch check --ascend` prints, as golden text.
#include "report/preflight.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "dlaunch/error.h"

namespace dlaunch::report {
namespace {

using testing::HasSubstr;

CheckedDevice device(long number, const std::string& status) {
  return {.device = number,
          .address = "10.0.0." + std::to_string(number),
          .peer = number,
          .peer_address = "10.0.1." + std::to_string(number),
          .status = status};
}

NetCheck good() {
  return {.hosts = {{.name = "a", .peer = "b", .devices = {device(0, "Success"), device(1, "Success")}},
                    {.name = "b", .peer = "a", .devices = {device(0, "Success"), device(2, "Success")}}}};
}

TEST(NetCheck, SucceedsIfAllDevicesConnectToTheirPeers) {
  EXPECT_EQ(exit_code(good()), 0);
  EXPECT_EQ(to_table(good()),
            "host  peer  device 0  device 1  device 2\n"
            "a     b     Success   Success   -\n"
            "b     a     Success   -         Success\n");
  EXPECT_EQ(findings_text(good()), "");
}

TEST(NetCheck, ReportsFaultsAndUnknownStatus) {
  NetCheck check = good();
  check.hosts[0].devices = {device(0, "Fault"), device(1, "Fault"), device(2, "")};
  check.hosts[0].devices[2].trouble = "no address of its peer is known";
  check.hosts.push_back({.name = "c", .peer = "a", .trouble = "has no Ascend device that is known"});
  EXPECT_EQ(exit_code(check), 1);
  EXPECT_THAT(to_table(check), HasSubstr("a     b     Fault     Fault     unknown\n"));
  EXPECT_EQ(
      findings_text(check),
      "dlaunch: a: devices 0-1: cannot connect to the devices of b: Fault\n"
      "dlaunch: a: device 2: no address of its peer is known\n"
      "dlaunch: c: has no Ascend device that is known\n"
      "dlaunch:   check the devices' links, addresses and switch: hccn_tool -i N -link -g, -ip -g, -gateway -g\n");
}

TEST(NetCheck, ReportsAHostWithoutConnection) {
  NetCheck check = good();
  check.lost = {{"d", "cannot connect", "is sshd running there?"}};
  EXPECT_EQ(exit_code(check), kExitHostLost);
  EXPECT_THAT(findings_text(check), HasSubstr("d: cannot connect"));
}

TEST(NetCheck, FormatsAsJson) {
  NetCheck check = good();
  check.hosts[0].devices[0] = device(0, "Fault");
  check.hosts[1].devices[1].status.clear();
  check.hosts[1].devices[1].trouble = "why\x1b";
  const auto json = nlohmann::json::parse(to_json(check));
  EXPECT_FALSE(json["ok"]);
  EXPECT_EQ(json["devices"].size(), 4u);
  EXPECT_EQ(json["devices"][0], (nlohmann::json{{"host", "a"},
                                                {"device", 0},
                                                {"address", "10.0.0.0"},
                                                {"peer_host", "b"},
                                                {"peer_device", 0},
                                                {"peer_address", "10.0.1.0"},
                                                {"status", "Fault"}}));
  EXPECT_TRUE(json["devices"][3]["status"].is_null());
  EXPECT_EQ(json["devices"][3]["why_not"], "why\x1b");
}

TEST(NetCheck, EscapesTextsOfHosts) {
  NetCheck check = good();
  check.hosts[0].devices[0] = device(0, "\x1b[31m");
  EXPECT_EQ(to_table(check).find('\x1b'), std::string::npos);
  EXPECT_EQ(findings_text(check).find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace dlaunch::report
