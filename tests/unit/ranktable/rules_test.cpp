// Each rule broken by itself in a table that else holds: exactly that finding, at that path.
#include "ranktable/rules.h"

#include "tables.h"

namespace dlaunch::ranktable {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string kOne = table_text({{"10.0.0.1"}});
const std::string kTwo = table_text({{"10.0.0.1"}, {"10.0.0.2"}});

TEST(Rules, GoodTablesHaveNoFindings) {
  for (const int devices : {1, 2, 4, 8})
    EXPECT_THAT(findings_of(table_text({{"a", 0, devices}})), IsEmpty()) << devices;
  EXPECT_THAT(findings_of(table_text({{"a", 4, 4}})), IsEmpty());
  EXPECT_THAT(findings_of(table_text({{"a", 1, 2}})), IsEmpty());
  EXPECT_THAT(findings_of(kTwo), IsEmpty());
  EXPECT_THAT(findings_of(table_text({{"a", 0, 3}}), Product::a2), IsEmpty());
  EXPECT_THAT(findings_of(table_text({{"a", 0, 16}}), Product::a2), IsEmpty());
  EXPECT_THAT(findings_of(table_text({{"a", 0, 3}, {"b", 0, 3}}), Product::a2), IsEmpty());
}

struct Case {
  const char* what;
  std::string text;
  std::vector<std::string> findings;
};

TEST(Rules, Forms) {
  const Case cases[] = {
      {"no object", "[]", {"$ is a list: it must be an object"}},
      {"no version", with(kOne, "version", "vision"), {"$.version is missing"}},
      {"the old template",
       R"({"group_list": []})",
       {"$.version is missing: group_list is the old template, which dlaunch does not read"}},
      {"unknown version",
       with(kOne, "\"1.0\"", "\"3\""),
       {"$.version is \"3\": dlaunch knows \"1.0\", \"1.2\" and \"2.0\""}},
      {"version as a number", with(kOne, "\"1.0\"", "1.0"), {"$.version is the number 1.0: it must be a string"}},
      {"not completed",
       with(kOne, "completed", "initializing"),
       {"$.status is \"initializing\": it must be \"completed\", or HCCL reads the file again for up to 30 minutes"}},
      {"no status", with(kOne, "\"status\"", "\"state\""), {"$.status is missing"}},
      {"count",
       with(kOne, R"("server_count": "1")", R"("server_count": "2")"),
       {"$.server_count is 2: server_list has 1"}},
      {"count as a number",
       with(kOne, R"("server_count": "1")", R"("server_count": 1)"),
       {"$.server_count is the number 1: in version 1.0 every value stands in quotes"}},
      {"no servers", table_text({}), {"$.server_list is empty"}},
      {"a server that is none",
       with(table_text({{"a", 0, 1}}), "{\"server_id\"", "7, {\"server_id\""),
       {"$.server_list[0] is the number 7: it must be an object", "$.server_count is 1: server_list has 2"}},
      {"rank as a number",
       with(kOne, R"("rank_id": "3")", R"("rank_id": 3)"),
       {"$.server_list[0].device[3].rank_id is the number 3: in version 1.0 every value stands in quotes"}},
      {"rank with a zero in front",
       with(kOne, R"("rank_id": "3")", R"("rank_id": "03")"),
       {"$.server_list[0].device[3].rank_id is \"03\": it must be a whole number from 0 to 65536"}},
      {"no address",
       with(kOne, "10.0.3.1", "10.0.3.256"),
       {"$.server_list[0].device[3].device_ip is \"10.0.3.256\": no IP address"}},
      {"a loopback device",
       with(kOne, "10.0.3.1", "127.0.0.1"),
       {"$.server_list[0].device[3].device_ip is 127.0.0.1: no other device can reach that address"}},
      {"server_id with stars",
       with(kOne, "10.0.0.1", "10.*.*.*"),
       {"$.server_list[0].server_id is \"10.*.*.*\": neither an address nor a host's name"}},
      {"server_id no address",
       with(kOne, "10.0.0.1", "10.0.0.300"),
       {"$.server_list[0].server_id is \"10.0.0.300\": no IP address"}},
      {"server_id empty",
       with(kOne, "10.0.0.1", ""),
       {"$.server_list[0].server_id is \"\": it must have 1 to 64 characters"}},
      {"port out of range",
       with(kOne, R"("rank_id": "3")", R"("rank_id": "3", "host_port": "65536")"),
       {"$.server_list[0].device[3].host_port is \"65536\": it must be a whole number from 1 to 65535"}},
  };
  for (const Case& test : cases) EXPECT_EQ(findings_of(test.text), test.findings) << test.what;
}

TEST(Rules, Ranks) {
  const Case cases[] = {
      {"twice",
       with(kOne, R"("rank_id": "3")", R"("rank_id": "2")"),
       {"$.server_list[0].device[3].rank_id is also $.server_list[0].device[2].rank_id",
        "$.server_list has no rank 3"}},
      {"too high",
       with(kOne, R"("rank_id": "7")", R"("rank_id": "8")"),
       {"$.server_list[0].device[7].rank_id is 8: with 8 devices, ranks are 0 to 7", "$.server_list has no rank 7"}},
      {"interleaved",
       with(with(with(kTwo, R"("rank_id": "7")", R"("rank_id": "x")"), R"("rank_id": "8")", R"("rank_id": "7")"),
            R"("rank_id": "x")", R"("rank_id": "8")"),
       {"$.server_list[0].device[7].rank_id is 8: ranks of another server stand before it and after this server's "
        "others; a server's ranks stand together",
        "$.server_list[1].device[1].rank_id is 9: ranks of another server stand before it and after this server's "
        "others; a server's ranks stand together"}},
      {"not in the order of server_id",
       table_text({{"10.0.0.9"}, {"10.0.0.10"}}),
       {"$.server_list[1].server_id is \"10.0.0.10\" with rank 8 on: it sorts before \"10.0.0.9\", whose ranks are "
        "lower; ranks follow the order of server_id"}},
  };
  for (const Case& test : cases) EXPECT_EQ(findings_of(test.text), test.findings) << test.what;
}

TEST(Rules, Servers) {
  const std::string crossed =
      "has devices 3-4: 2 or 4 devices must all be of 0-3 or all of 4-7, which are two networks";
  const Case cases[] = {
      {"three devices",
       table_text({{"a", 0, 3}}),
       {"$.server_list[0].device has 3 devices: a server of Ascend 910 has 1, 2, 4 or 8 (--product a2 for A2)"}},
      {"four each",
       table_text({{"a", 0, 4}, {"b", 0, 4}}),
       {"$.server_list[0].device has 4 devices: with several servers of Ascend 910, each has 8 (--product a2 for A2)",
        "$.server_list[1].device has 4 devices: with several servers of Ascend 910, each has 8 (--product a2 for A2)"}},
      {"eight and four",
       table_text({{"a"}, {"b", 0, 4}}),
       {"$.server_list[1].device has 4 devices: the first server has 8"}},
      {"crossing", table_text({{"a", 3, 2}}), {"$.server_list[0].device " + crossed}},
      {"device 8",
       with(kOne, R"("device_id": "7")", R"("device_id": "8")"),
       {"$.server_list[0].device[7].device_id is 8: the highest is 7 (--product a2 for A2)"}},
      {"one server twice",
       table_text({{"a"}, {"a"}}),
       {"$.server_list[1].server_id is also $.server_list[0].server_id"}},
      {"one device twice",
       with(kOne, R"("device_id": "3")", R"("device_id": "2")"),
       {"$.server_list[0].device[3].device_id is also $.server_list[0].device[2].device_id"}},
      {"one address twice",
       with(kTwo, "10.1.3.1", "10.0.5.1"),
       {"$.server_list[1].device[3].device_ip is also $.server_list[0].device[5].device_ip"}},
      {"two families",
       with(kOne, "10.0.3.1", "fd00::1"),
       {"$.server_list[0].device[3].device_ip is an IPv6 address: those before it are IPv4"}},
      {"no address among several",
       with(kTwo, R"("device_ip": "10.1.3.1", )", ""),
       {"$.server_list[1].device[3].device_ip is missing: several servers cannot do without it"}},
      {"no address on one", with(kOne, R"("device_ip": "10.0.3.1", )", ""), {}},
      {"loopback among several",
       with(kTwo, "10.0.0.1\"", "0.127\""),
       {"$.server_list[0].server_id is \"0.127\": no IP address"}},
      {"127.0.0.1 among several",
       table_text({{"10.0.0.1"}, {"127.0.0.1"}}),
       {"$.server_list[1].server_id is 127.0.0.1: the other servers cannot mean that one by it"}},
      {"127.0.0.1 alone",
       table_text({{"127.0.0.1"}}),
       {"note: $.server_list[0].server_id is 127.0.0.1: it works for one server alone and cannot be merged"}},
      {"super pods in 1.0",
       with(kOne, "\"status\"", "\"super_pod_list\": [], \"status\""),
       {"$.super_pod_list belongs to version 1.2"}},
  };
  for (const Case& test : cases) EXPECT_EQ(findings_of(test.text), test.findings) << test.what;
}

/// Two servers of two devices in one super pod.
const std::string kPods = R"({"version": "1.2", "status": "completed", "server_list": [
{"server_id": "n0", "host_ip": "172.16.0.1", "device": [
 {"device_id": "0", "super_device_id": "0", "rank_id": "0"}, {"device_id": "1", "super_device_id": "1", "rank_id": "1"}]},
{"server_id": "n1", "device": [
 {"device_id": "0", "super_device_id": "2", "rank_id": "2"}, {"device_id": "1", "super_device_id": "3", "rank_id": "3"}]}],
"super_pod_list": [{"super_pod_id": "0", "server_list": [{"server_id": "n0"}, {"server_id": "n1"}]}]})";

TEST(Rules, SuperPods) {
  const Case cases[] = {
      {"good", kPods, {}},
      {"no super_device_id",
       with(kPods, R"("super_device_id": "2", )", ""),
       {"$.server_list[1].device[0].super_device_id is missing beside super_pod_list"}},
      {"one super_device_id twice",
       with(kPods, R"("super_device_id": "2")", R"("super_device_id": "1")"),
       {"$.server_list[1].device[0].super_device_id is also $.server_list[0].device[1].super_device_id, in the same "
        "super pod"}},
      {"a server in no pod",
       with(kPods, R"(, {"server_id": "n1"}])", "]"),
       {"$.server_list[1].server_id is in no super pod"}},
      {"an unknown server",
       with(kPods, R"({"server_id": "n1"}])", R"({"server_id": "n2"}])"),
       {"$.super_pod_list[0].server_list names \"n2\", which $.server_list does not have",
        "$.server_list[1].server_id is in no super pod"}},
      {"a server twice",
       with(kPods, R"({"server_id": "n1"}])", R"({"server_id": "n1"}, {"server_id": "n0"}])"),
       {"$.super_pod_list[0].server_list names \"n0\", which is in a super pod already"}},
      {"a numeric scalar",
       with(kPods, R"("super_pod_id": "0")", R"("super_pod_id": 0)"),
       {"$.super_pod_list[0].super_pod_id is the number 0: in version 1.2 every value stands in quotes"}},
  };
  for (const Case& test : cases) EXPECT_EQ(findings_of(test.text), test.findings) << test.what;
}

std::string v2_rank(int rank, int device, const std::string& server, const std::string& address) {
  const std::string id = std::to_string(device);
  return "{\"rank_id\": " + std::to_string(rank) + ", \"local_id\": " + id + ", \"device_id\": " + id +
         R"(, "level_list": [{"net_layer": 0, "net_instance_id": ")" + server +
         R"(", "net_type": "TOPO_FILE_DESC", "net_attr": "", "rank_addr_list": [{"addr_type": "IPV4", "addr": ")" +
         address + R"(", "ports": ["0/1"], "plane_id": "p"}]}]})";
}

const std::string kV2 = R"({"version": "2.0", "rank_count": 2, "rank_list": [)" + v2_rank(0, 0, "s0", "172.16.0.1") +
                        ",\n" + v2_rank(1, 1, "s0", "172.16.0.2") + "]}";

TEST(Rules, VersionTwo) {
  const std::string rank = "$.rank_list[1]", level = "$.rank_list[1].level_list[0]";
  const std::string second = kV2.substr(0, kV2.find('\n'));
  const auto spoilt = [&](const std::string& what, const std::string& instead) {
    return second + with(kV2.substr(second.size()), what, instead);
  };
  const Case cases[] = {
      {"good", kV2, {}},
      {"quotes",
       spoilt("\"rank_id\": 1", "\"rank_id\": \"1\""),
       {rank + ".rank_id is \"1\": in version 2.0 a number stands without quotes"}},
      {"count", with(kV2, "\"rank_count\": 2", "\"rank_count\": 3"), {"$.rank_count is 3: rank_list has 2"}},
      {"initializing",
       with(kV2, "\"rank_count\"", "\"status\": \"initializing\", \"rank_count\""),
       {"$.status is \"initializing\": it must be \"completed\""}},
      {"local_id twice",
       spoilt("\"local_id\": 1", "\"local_id\": 0"),
       {rank + ".local_id is also $.rank_list[0].local_id"}},
      {"address twice",
       spoilt("172.16.0.2", "172.16.0.1"),
       {level + ".rank_addr_list[0].addr is also $.rank_list[0].level_list[0].rank_addr_list[0].addr"}},
      {"host's address twice", with(with(with(kV2, "172.16.0.2", "172.16.0.1"), "0/1", "d2h"), "0/1", "d2h"), {}},
      {"no EID",
       spoilt("IPV4", "EID"),
       {level + ".rank_addr_list[0].addr is \"172.16.0.2\": an EID has 32 hexadecimal digits"}},
      {"wrong family",
       spoilt("IPV4", "IPV6"),
       {level + ".rank_addr_list[0].addr is \"172.16.0.2\": no address of type IPV6"}},
      {"unknown type",
       spoilt("IPV4", "MAC"),
       {level + ".rank_addr_list[0].addr_type is \"MAC\": it must be EID, IPV4 or IPV6"}},
      {"ports as a string",
       spoilt("[\"0/1\"]", "\"0/1\""),
       {level + ".rank_addr_list[0].ports is \"0/1\": it must be a list"}},
      {"port twice",
       spoilt("[\"0/1\"]", "[\"0/1\", \"0/1\"]"),
       {level + ".rank_addr_list[0].ports[1] is \"0/1\": so is " + level + ".rank_addr_list[0].ports[0]"}},
      {"layer",
       spoilt("\"net_layer\": 0", "\"net_layer\": 8"),
       {level + ".net_layer is the number 8: it must be a whole number from 0 to 7"}},
      {"net_type",
       spoilt("TOPO_FILE_DESC", "CLOS"),
       {level + ".net_type is \"CLOS\": it must be TOPO_FILE_DESC on layer 0"}},
      {"interleaved",
       R"({"version": "2.0", "rank_count": 3, "rank_list": [)" + v2_rank(0, 0, "s0", "172.16.0.1") + "," +
           v2_rank(1, 0, "s1", "172.16.0.2") + "," + v2_rank(2, 1, "s0", "172.16.0.3") + "]}",
       {"note: $.rank_list[2].rank_id is 2: ranks of another server stand before it and after this server's others; a "
        "server's ranks stand together"}},
  };
  for (const Case& test : cases) EXPECT_EQ(findings_of(test.text), test.findings) << test.what;
}

TEST(Rules, SayLineAndColumn) {
  const Json json = json_of(with(kOne, R"("rank_id": "3")", R"("rank_id": 3)"));
  const Reading reading = read_table(json);
  ASSERT_EQ(reading.findings.size(), 1u);
  EXPECT_EQ(std::pair(reading.findings[0].line, reading.findings[0].column), std::pair(6, 56));
}

std::vector<std::string> name_findings(std::string_view name, const std::string& text) {
  const Json json = json_of(text);
  const Reading reading = read_table(json);
  std::vector<std::string> texts;
  for (const TableFinding& finding : check_file_name(name, &*reading.table))
    texts.push_back((finding.note ? "note: " : "") + finding.what);
  return texts;
}

TEST(Rules, FileName) {
  EXPECT_THAT(name_findings("hccl_8p_01234567_10.0.0.1.json", kOne), IsEmpty());
  EXPECT_THAT(name_findings("rank_table_8pcs.json", kOne), IsEmpty());
  EXPECT_THAT(name_findings("hccl_4p_0123_10.0.0.1.json", table_text({{"a", 4, 4}})), IsEmpty());  // --visible_devices
  EXPECT_THAT(name_findings("hccl_2s_16p.json", kTwo), IsEmpty());
  EXPECT_THAT(name_findings("table.txt", kOne), ElementsAre("the file's name must end in .json"));
  EXPECT_THAT(name_findings("hccl_4p_0123_a.json", kOne),
              ElementsAre("note: the file's name says 4 devices, the table has 8"));
  EXPECT_THAT(name_findings("hccl_2s_8p.json", kTwo),
              ElementsAre("note: the file's name says 8 devices, the table has 16"));
  EXPECT_THAT(
      name_findings("hccl_8p_10234567_127.0.0.1.json", kOne),
      ElementsAre("note: the file's name has the devices as 10234567, the table as 01234567: a script that looks "
                  "for one does not find the other"));
}

}  // namespace
}  // namespace dlaunch::ranktable
