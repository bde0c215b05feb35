#include "ascend/tables/make.h"

#include "tables.h"

namespace dlaunch::ranktable {
namespace {

using testing::HasSubstr;

/// A table of one server. Merging such tables must give the same text as table_text for all servers.
std::string one_server(const std::string& id, int network, int devices = 8) {
  std::string text = table_text({{id, 0, devices}});
  for (size_t at = text.find("\"10.0."); at != std::string::npos; at = text.find("\"10.0.", at + 1))
    text.replace(at, 6, "\"10." + std::to_string(network) + ".");
  return text;
}

Result<Merged> merge(const std::vector<std::string>& texts, std::optional<Product> product = {}) {
  std::vector<NamedJson> tables;
  for (const std::string& text : texts) tables.push_back({"f" + std::to_string(tables.size()), json_of(text)});
  return merge_tables(std::move(tables), product);
}

std::string error(const std::vector<std::string>& texts) {
  const auto merged = merge(texts);
  EXPECT_FALSE(merged);
  return merged ? "" : to_text(merged.error());
}

TEST(Merge, NumbersInTheOrderOfServersAsText) {
  const auto merged = merge({one_server("b9", 1), one_server("b10", 0)});
  ASSERT_TRUE(merged) << to_text(merged.error());
  EXPECT_EQ(to_text(merged->json), to_text(json_of(table_text({{"b10"}, {"b9"}}))));
  EXPECT_EQ(merged->servers, 2u);
  EXPECT_EQ(merged->ranks, 16u);
}

TEST(Merge, AMergedTableMergesAgain) {
  const auto two = merge({one_server("a", 0), one_server("c", 2)});
  ASSERT_TRUE(two);
  const auto three = merge({one_server("b", 1), to_text(two->json)});
  ASSERT_TRUE(three) << to_text(three.error());
  EXPECT_EQ(to_text(three->json), to_text(json_of(table_text({{"a"}, {"b"}, {"c"}}))));
}

TEST(Merge, KeepsTheOrderOfRanksAndOtherMembers) {
  const std::string swapped = with(with(with(one_server("b", 1), R"("rank_id": "0")", R"("rank_id": "x")"),
                                        R"("rank_id": "1")", R"("rank_id": "0")"),
                                   R"("rank_id": "x")", R"("rank_id": "1", "tor_ip": "1.2.3.4")");
  const auto merged = merge({with(swapped, "\"device\"", "\"pod_ip\": \"5.6.7.8\", \"device\""), one_server("a", 0)});
  ASSERT_TRUE(merged) << to_text(merged.error());
  const json::Json& server = merged->json.find("server_list")->items[1];
  EXPECT_EQ(server.find("pod_ip")->text, "5.6.7.8");
  const json::Json& device = server.find("device")->items[1];
  EXPECT_EQ(device.find("device_id")->text, "0");
  EXPECT_EQ(device.find("rank_id")->text, "9");
  EXPECT_EQ(device.find("tor_ip")->text, "1.2.3.4");
}

TEST(Merge, RejectsTablesThatDoNotMatch) {
  const std::string a = one_server("a", 0);
  EXPECT_THAT(error({a, a}), HasSubstr("f1: duplicate server \"a\": also in f0"));
  EXPECT_THAT(error({a, with(one_server("b", 1), "\"1.0\"", "\"1.2\"")}),
              HasSubstr("f1: cannot be merged with f0: this table has version 1.2, the other has 1.0"));
  EXPECT_THAT(error({a, with(one_server("b", 1), "\"rank_id\": \"3\"", "\"rank_id\": 3")}),
              HasSubstr("f1:6:56: cannot be merged: $.server_list[0].device[3].rank_id: invalid value 3"));
  EXPECT_THAT(error({a, one_server("b", 1, 4)}), HasSubstr("$.server_list[1].device: invalid number of devices \"4\""));
  EXPECT_THAT(error({a, one_server("b", 0)}), HasSubstr("device_ip: duplicate value: also"));
  EXPECT_THAT(error({one_server("127.0.0.1", 0), one_server("b", 1)}),
              HasSubstr("server_id: invalid address \"127.0.0.1\""));
  EXPECT_THAT(error({"{}"}), HasSubstr("$.version: missing key"));
  EXPECT_TRUE(merge({one_server("a", 0, 4), one_server("b", 1, 4)}, Product::a2));
}

std::string pod_server(const std::string& id, const std::string& pod, int first) {
  std::string devices;
  for (int i = 0; i < 2; ++i) {
    devices += std::string(i ? ", " : "") + R"({"device_id": ")" + std::to_string(i) + R"(", "super_device_id": ")" +
               std::to_string(first + i) + R"(", "device_ip": "10.0.0.)" + std::to_string(first + i) +
               R"(", "rank_id": ")" + std::to_string(i) + "\"}";
  }
  return R"({"version": "1.2", "status": "completed", "server_list": [{"server_id": ")" + id + R"(", "device": [)" +
         devices + R"(]}], "super_pod_list": [{"super_pod_id": ")" + pod + R"(", "server_list": [{"server_id": ")" +
         id + R"("}]}]})";
}

TEST(Merge, JoinsSuperPods) {
  const auto merged = merge({pod_server("n0", "p", 0), pod_server("n1", "q", 2), pod_server("n2", "p", 4)});
  ASSERT_TRUE(merged) << to_text(merged.error());
  const json::Json& pods = *merged->json.find("super_pod_list");
  ASSERT_EQ(pods.items.size(), 2u);
  EXPECT_EQ(pods.items[0].find("server_list")->items.size(), 2u);
  EXPECT_EQ(merged->json.find("server_count")->text, "3");
  const std::string alone = pod_server("n1", "p", 2);
  EXPECT_THAT(error({pod_server("n0", "p", 0), alone.substr(0, alone.find(", \"super_pod_list\"")) + "}"}),
              HasSubstr("only one table has a super_pod_list"));
}

TEST(Merge, MergesVersionTwo) {
  const auto rank = [](const std::string& server, const std::string& address) {
    return R"({"version": "2.0", "rank_count": 1, "rank_list": [{"rank_id": 0, "local_id": 0, "device_id": 0,
      "level_list": [{"net_layer": 0, "net_instance_id": ")" +
           server + R"(", "net_type": "TOPO_FILE_DESC", "rank_addr_list": [{"addr_type": "IPV4", "addr": ")" + address +
           R"(", "ports": ["0/1"]}]}]}]})";
  };
  const auto merged = merge({rank("s1", "10.0.0.1"), rank("s0", "10.0.0.2")});
  ASSERT_TRUE(merged) << to_text(merged.error());
  EXPECT_EQ(merged->json.find("rank_count")->text, "2");
  const json::Json& second = merged->json.find("rank_list")->items[1];
  EXPECT_EQ(second.find("rank_id")->text, "1");
  EXPECT_EQ(second.find("level_list")->items[0].find("net_instance_id")->text, "s1");
  EXPECT_THAT(error({rank("s0", "10.0.0.1"), rank("s0", "10.0.0.2")}), HasSubstr("duplicate server \"s0\""));
}

}  // namespace
}  // namespace dlaunch::ranktable
