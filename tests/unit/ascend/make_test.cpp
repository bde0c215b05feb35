// Tables made from facts, byte for byte against tests/golden/ranktable/. After an intended change:
//   DLAUNCH_UPDATE_GOLDEN=1 build/dev/tests/unit/ranktable_tests --gtest_filter='Make.*'
#include "ascend/tables/make.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "ascend/tables/table.h"
#include "tables.h"

namespace dlaunch::ranktable {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

void expect_golden(const std::string& name, const Result<json::Json>& table) {
  ASSERT_TRUE(table) << to_text(table.error());
  const std::string path = DLAUNCH_GOLDEN_DIR "/" + name, text = to_text(*table);
  if (std::getenv("DLAUNCH_UPDATE_GOLDEN") != nullptr) std::ofstream(path, std::ios::binary) << text;
  std::ostringstream golden;
  golden << std::ifstream(path, std::ios::binary).rdbuf();
  EXPECT_EQ(text, golden.str()) << path;
  EXPECT_THAT(findings_of(text), IsEmpty());
}

HostFacts host(const std::string& id, int network, std::vector<long> devices) {
  HostFacts facts{.server_id = id, .devices = std::move(devices)};
  for (long device = 0; device < 16; ++device)
    facts.device_ips[device] = "192." + std::to_string(network) + "." + std::to_string(device) + ".6";
  return facts;
}

const std::vector<long> kEight{0, 1, 2, 3, 4, 5, 6, 7};

/// The addresses in the example of the documents.
HostFacts document_host(std::vector<long> devices) {
  HostFacts facts{.server_id = "10.0.0.1", .devices = std::move(devices)};
  for (long device = 0; device < 8; ++device)
    facts.device_ips[device] = "192.168.10" + std::to_string(device % 4) + (device < 4 ? ".101" : ".100");
  return facts;
}

TEST(Make, MatchesTheExamplesOfTheDocuments) {
  expect_golden("documents-8p.json", make_table(Version::v1_0, Product::ascend910, {document_host(kEight)}));
  expect_golden("documents-4p.json", make_table(Version::v1_0, Product::ascend910, {document_host({4, 5, 6, 7})}));
}

TEST(Make, OrdersHostsAsText) {
  const auto table =
      make_table(Version::v1_0, Product::ascend910, {host("10.0.0.9", 1, kEight), host("10.0.0.10", 2, kEight)});
  expect_golden("two-hosts.json", table);
}

TEST(Make, WritesSuperPods) {
  std::vector<HostFacts> hosts{host("node-1", 1, {0, 1}), host("node-0", 2, {0, 1}), host("node-2", 3, {1, 0})};
  for (size_t i = 0; i < hosts.size(); ++i) {
    hosts[i].super_pod_id = i == 2 ? "1" : "0";
    hosts[i].host_ip = "172.16.0." + std::to_string(i + 1);
    for (long device = 0; device < 2; ++device) hosts[i].super_device_ids[device] = static_cast<long>(i) * 100 + device;
  }
  expect_golden("super-pods.json", make_table(Version::v1_2, Product::a3, hosts));
  hosts[1].super_device_ids.clear();
  const auto without = make_table(Version::v1_2, Product::a3, hosts);
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().where, "node-0");
  EXPECT_THAT(without.error().what, HasSubstr("missing id in the super pod of device 0"));
}

HostFacts host_of_root_info(const std::string& id, const std::string& digit) {
  std::string ranks;
  for (const std::string& device : {std::string("0"), std::string("1")}) {
    ranks += std::string(device == "0" ? "" : ",") + R"({"device_id": )" + device + R"(, "local_id": )" + device +
             R"(, "level_list": [{"net_layer": 0, "net_instance_id": ")" + id +
             R"(", "net_type": "TOPO_FILE_DESC", "net_attr": "", "rank_addr_list": [{"addr_type": "EID", "addr": ")" +
             std::string(30, '0') + digit + device + R"(", "ports": ["0/1"], "plane_id": "0"}]}]})";
  }
  HostFacts facts{.server_id = id, .devices = {0, 1}};
  facts.root_info = R"({"version": "2.0", "rank_list": [)" + ranks + "]}";
  return facts;
}

TEST(Make, VersionTwoReadsAddressesFromTheRootInformation) {
  const std::vector<HostFacts> hosts{host_of_root_info("pod1", "b"), host_of_root_info("pod0", "a")};
  expect_golden("version-2.json", make_table(Version::v2_0, Product::ascend950, hosts));
  const auto unknown = make_table(Version::v2_0, Product::ascend950, {host("pod0", 1, {0})});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().what, HasSubstr("missing entry in the root information of device 0"));
}

TEST(Make, RejectsBrokenRules) {
  const auto crossing = make_table(Version::v1_0, Product::ascend910, {host("10.0.0.1", 1, {3, 4})});
  ASSERT_FALSE(crossing);
  EXPECT_EQ(crossing.error().exit_code, kExitRefused);
  EXPECT_THAT(crossing.error().why, HasSubstr("$.server_list[0].device: invalid devices \"3-4\""));
  EXPECT_TRUE(make_table(Version::v1_0, Product::a2, {host("10.0.0.1", 1, {3, 4})}));
  EXPECT_FALSE(make_table(Version::v1_0, Product::ascend910, {host("10.0.0.1", 1, {})}));
  EXPECT_FALSE(make_table(Version::v1_0, Product::ascend910, std::vector<HostFacts>{}));
  const auto lone = make_table(Version::v1_0, Product::ascend910, {host("10.0.0.1", 1, {17})});
  ASSERT_FALSE(lone);
  EXPECT_THAT(lone.error().what, HasSubstr("missing address of device 17"));
}

plan::Plan plan_of(const std::vector<std::pair<int, int>>& hosts_and_devices, int hosts) {
  plan::Plan plan;
  for (int i = 0; i < hosts; ++i) {
    plan.hosts.emplace_back();
    plan.hosts.back().host.name = "h" + std::to_string(i);
  }
  for (const auto& [at, device] : hosts_and_devices) {
    plan::Rank rank;
    rank.rank = static_cast<int>(plan.ranks.size());
    rank.host = at;
    if (device >= 0) rank.device = device;
    plan.hosts[static_cast<size_t>(at)].ranks.push_back(rank.rank);
    plan.ranks.push_back(rank);
  }
  return plan;
}

TEST(Make, KeepsTheRanksOfAPlan) {
  const auto plan = plan_of({{0, 2}, {0, 1}, {1, 5}, {1, 4}}, 2);
  const auto table = make_table(Version::v1_0, Product::a2, plan, {host("10.0.0.1", 1, {}), host("10.0.0.2", 2, {})});
  ASSERT_TRUE(table) << to_text(table.error());
  const Reading reading = read_table(*table);
  const auto assignment = assignment_of(*reading.table);
  ASSERT_TRUE(assignment);
  ASSERT_EQ(assignment->ranks.size(), plan.ranks.size());
  for (const plan::Rank& rank : plan.ranks) {
    EXPECT_EQ(assignment->ranks[static_cast<size_t>(rank.rank)].host, rank.host);
    EXPECT_EQ(assignment->ranks[static_cast<size_t>(rank.rank)].device, rank.device);
  }
}

TEST(Make, RejectsPlansThatHcclWouldMisread) {
  const std::vector<HostFacts> facts{host("10.0.0.1", 1, {}), host("10.0.0.2", 2, {})};
  const auto error = [&](const plan::Plan& plan, const std::vector<HostFacts>& known) {
    const auto table = make_table(Version::v1_0, Product::a2, plan, known);
    EXPECT_FALSE(table);
    return table ? std::string() : to_text(table.error());
  };
  EXPECT_THAT(error(plan_of({{0, 0}, {1, 0}, {0, 1}, {1, 1}}, 2), facts), HasSubstr("must be consecutive"));
  EXPECT_THAT(error(plan_of({{0, 0}, {1, 0}}, 2), {facts[1], facts[0]}), HasSubstr("order of ranks"));
  EXPECT_THAT(error(plan_of({{0, 0}, {0, -1}}, 1), {facts[0]}), HasSubstr("rank 1: missing device"));
  EXPECT_THAT(error(plan_of({{0, 0}, {0, 0}}, 1), {facts[0]}), HasSubstr("device_id: duplicate value: also"));
  EXPECT_THAT(error(plan_of({{0, 0}, {1, 0}}, 2), {facts[0]}), HasSubstr("missing addresses: only 1 of 2 hosts"));
}

TEST(Make, BuildsFileNames) {
  EXPECT_EQ(file_name(kEight, "127.0.0.1"), "hccl_8p_01234567_127.0.0.1.json");
  EXPECT_EQ(file_name({4, 5, 6, 7}, "10.0.0.1"), "hccl_4p_4567_10.0.0.1.json");
  EXPECT_EQ(file_name(2, 16), "hccl_2s_16p.json");
}

TEST(TableAssignment, ContainsHostsRanksAndDevicesOfATable) {
  const json::Json json = json_of(with(table_text({{"10.0.0.1"}, {"10.0.0.2"}}), "{\"server_id\": \"10.0.0.2\"",
                                       "{\"host_ip\": \"172.16.0.2\", \"server_id\": \"10.0.0.2\""));
  const auto assignment = assignment_of(*read_table(json).table);
  ASSERT_TRUE(assignment);
  ASSERT_EQ(assignment->hosts.size(), 2u);
  EXPECT_EQ(assignment->hosts[0].name, "10.0.0.1");
  EXPECT_EQ(assignment->hosts[1].name, "172.16.0.2");
  EXPECT_EQ(assignment->hosts[1].server_id, "10.0.0.2");
  EXPECT_THAT(assignment->hosts[1].ranks, ElementsAre(8, 9, 10, 11, 12, 13, 14, 15));
  EXPECT_THAT(assignment->hosts[1].devices, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(assignment->ranks[9].host, 1);
  EXPECT_EQ(assignment->ranks[9].device, 1);
}

TEST(TableAssignment, RejectsATableWithMissingRanks) {
  const std::string good = table_text({{"a", 0, 2}});
  for (const std::string& text :
       {with(good, R"("rank_id": "1")", R"("rank_id": "0")"), with(good, R"("rank_id": "1")", R"("rank_id": "2")"),
        with(good, R"("rank_id": "1")", R"("x": "1")"), with(good, R"("device_id": "1")", R"("x": "1")"),
        table_text({})}) {
    const json::Json json = json_of(text);
    EXPECT_FALSE(assignment_of(*read_table(json).table)) << text;
  }
}

}  // namespace
}  // namespace dlaunch::ranktable
