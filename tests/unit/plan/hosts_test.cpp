// `dlaunch hosts` as golden text, and the cases that require a connection to the hosts.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "dlaunch/plan.h"

namespace dlaunch::plan {
namespace {

Allocation two_hosts() {
  Allocation allocation;
  Host here;
  here.name = "head";
  here.other_names = {"localhost"};
  here.local = true;
  here.slots = 2;
  here.slots_from = "affinity mask";
  here.device_kind = DeviceKind::nvidia;
  here.devices = {0, 1, 3};
  here.devices_from = "CUDA_VISIBLE_DEVICES";
  Host there;
  there.name = "node1";
  there.slots_unknown = true;
  there.slots_from = "hosts:2";
  there.max_slots = 16;
  there.wdir = "/data";
  there.env = {"SECRET=hush"};
  there.reach = {.user = "me", .port = 2222, .identity = "~/.ssh/k", .jump = "gate", .agent = ""};
  allocation.hosts = {here, there};
  allocation.notes = {"something to know"};
  return allocation;
}

TEST(Hosts, FormatAsATable) {
  EXPECT_EQ(to_table(two_hosts()),
            "host              slots           from           devices                              reached            "
            "                             directory\n"
            "head = localhost  2               affinity mask  nvidia 0-1,3 (CUDA_VISIBLE_DEVICES)  this machine       "
            "                             -\n"
            "node1             ? (at most 16)  hosts:2        none                                 user me, port 2222,"
            " key ~/.ssh/k, through gate  /data\n"
            "note: something to know\n");
}

TEST(Hosts, FormatAsJson) {
  const std::string text = to_json(two_hosts());
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json["hosts"][0]["slots"], 2);
  EXPECT_EQ(json["hosts"][1]["slots"], nullptr);
  EXPECT_EQ(json["hosts"][1]["port"], 2222);
  EXPECT_EQ(json["notes"][0], "something to know");
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("hush")));
}

TEST(Hosts, AreContactedOnlyIfSlotsPlaceRanks) {
  Allocation allocation = two_hosts();
  Request request;
  EXPECT_TRUE(needs_slots(request, allocation));
  request.ranks_per_host = 1;
  EXPECT_FALSE(needs_slots(request, allocation));
  request.ranks_per_host.reset();
  request.in_sequence = true;
  EXPECT_FALSE(needs_slots(request, allocation));
  request.in_sequence = false;
  allocation.hosts[1].slots_unknown = false;
  EXPECT_FALSE(needs_slots(request, allocation));
}

}  // namespace
}  // namespace dlaunch::plan
