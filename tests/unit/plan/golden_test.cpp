// Compares the output of --dry-run with tests/golden/plan/, byte for byte. After an intended change:
//   DLAUNCH_UPDATE_GOLDEN=1 build/dev/tests/unit/plan_tests --gtest_filter='Golden.*'
// rewrites the files; read the diff before committing.
#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "dlaunch/plan.h"
#include "requests.h"

namespace dlaunch::plan {
namespace {

std::string read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = DLAUNCH_GOLDEN_DIR "/" + name;
  if (std::getenv("DLAUNCH_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
  }
  EXPECT_EQ(text, read(path)) << path;
}

void expect_golden_plan(const std::string& name, const Request& request, const Allocation& allocation) {
  const auto plan = make_plan(request, allocation);
  ASSERT_TRUE(plan) << to_text(plan.error());
  expect_golden(name + ".txt", to_table(*plan));
  expect_golden(name + ".json", to_json(*plan));
}

TEST(Golden, EightDevicesOnAHost) { expect_golden_plan("eight-devices", request(8), local(8, 8)); }

TEST(Golden, NoDevicesAndMoreRanksThanCpus) { expect_golden_plan("crowded-cpus", request(3), local(2)); }

TEST(Golden, SharedDevicesBoundToCores) {
  Request asked = request(4);
  asked.oversubscribe = true;
  asked.binding = {.bind_to = BindTo::core, .map_by = MapBy::socket, .rank_by = RankBy::core, .report = true};
  Allocation allocation = local(4, 2);
  allocation.hosts[0].devices = {3, 1};
  allocation.hosts[0].device_kind = DeviceKind::nvidia;
  allocation.hosts[0].devices_from = "CUDA_VISIBLE_DEVICES";
  expect_golden_plan("shared-devices", asked, allocation);
}

TEST(Golden, SeveralProgramsWithOddWords) {
  Request asked = request(1);
  asked.apps[0].argv = {"sh", "-c", "echo \"it's\"\n\x1b[31m", std::string(80, 'x')};
  asked.apps[0].env = {{"TOKEN", "a secret that no plan may show"}};
  asked.apps.push_back(app({"/opt/größe/bin/serve", "--port", "80"}, 2));
  asked.apps[1].wdir = "/srv/data dir";
  asked.apps[1].env = {{"RANK_ID", "another secret"}, {"UNSET_ONE", {}}};
  expect_golden_plan("several-programs", asked, local(4));
}

TEST(Golden, ManyHostsRoundRobin) {
  Request asked = request(7);
  asked.binding.map_by = MapBy::node;
  Allocation allocation = hosts({2, 3, 4});
  allocation.hosts[0].local = true;
  allocation.hosts[1] = host("node-with-a-long-name.example.org", 3, 2);
  expect_golden_plan("by-node", asked, allocation);
}

TEST(Golden, DescribedHosts) {
  Request asked = request(4);
  asked.environment.emplace_back("SSH_CLIENT=10.0.0.9 1 2");
  asked.apps[0].env = {{"TOKEN", "a secret that no plan may show"}};
  asked.binding.map_by = MapBy::node;
  Allocation allocation = hosts({2, 2});
  Host& described = allocation.hosts[0];
  described.other_names = {"n0.example.org"};
  described.from = described.slots_from;
  described.reach = {.user = "me", .port = 2222, .identity = "~/.ssh/k", .jump = "gate", .agent = "/opt/agent"};
  described.max_slots = 4;
  described.wdir = "/data";
  described.env = {"NCCL_SOCKET_IFNAME=eth0", "PASS=a secret that no plan may show"};
  described.device_kind = DeviceKind::named;
  described.devices = {4, 5};
  described.devices_from = described.from;
  allocation.notes = {"a note of the allocation"};
  expect_golden_plan("described-hosts", asked, allocation);
}

TEST(Golden, ValuesOfVariablesAreNeverPrinted) {
  Request asked = request(2);
  asked.environment = {"HOME=SENTINEL", "A=x\nSENTINEL=1"};
  asked.apps[0].env = {{"TOKEN", "SENTINEL"}, {"DLAUNCH_HOST", "SENTINEL"}};
  const auto plan = make_plan(asked, local(1));
  ASSERT_TRUE(plan);
  EXPECT_THAT(to_table(*plan), testing::Not(testing::HasSubstr("SENTINEL")));
  EXPECT_THAT(to_json(*plan), testing::Not(testing::HasSubstr("SENTINEL")));
}

TEST(Golden, InvalidUtf8BecomesValidJson) {
  Request asked = request(1);
  asked.apps[0].argv = {"a\xff\x80", "b"};
  const auto plan = make_plan(asked, local(1));
  ASSERT_TRUE(plan);
  EXPECT_THAT(to_json(*plan), testing::HasSubstr("\"a\xEF\xBF\xBD\xEF\xBF\xBD\""));
}

}  // namespace
}  // namespace dlaunch::plan
