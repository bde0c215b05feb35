// Breaks each rule separately in a valid table: the result is exactly one finding, at the expected path.
#include "ascend/tables/rules.h"

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

TEST(Rules, ReportInvalidForms) {
  const Case cases[] = {
      {"no object", "[]", {"$: invalid value […]: expected an object"}},
      {"no version", with(kOne, "version", "vision"), {"$.version: missing key"}},
      {"the old format",
       R"({"group_list": []})",
       {"$.version: missing key: dlaunch does not support the old format with group_list"}},
      {"unknown version",
       with(kOne, "\"1.0\"", "\"3\""),
       {"$.version: unknown version \"3\": expected \"1.0\", \"1.2\" or \"2.0\""}},
      {"version as a number", with(kOne, "\"1.0\"", "1.0"), {"$.version: invalid value 1.0: expected a string"}},
      {"not completed",
       with(kOne, "completed", "initializing"),
       {"$.status: invalid status \"initializing\": expected \"completed\": otherwise HCCL reads the file again for up "
        "to 30 minutes"}},
      {"no status", with(kOne, "\"status\"", "\"state\""), {"$.status: missing key"}},
      {"count",
       with(kOne, R"("server_count": "1")", R"("server_count": "2")"),
       {"$.server_count: invalid number \"2\": expected 1, the length of server_list"}},
      {"count as a number",
       with(kOne, R"("server_count": "1")", R"("server_count": 1)"),
       {"$.server_count: invalid value 1: expected a string: version 1.0 requires quotes around every value"}},
      {"no servers", table_text({}), {"$.server_list: empty list"}},
      {"a number as a server",
       with(table_text({{"a", 0, 1}}), "{\"server_id\"", "7, {\"server_id\""),
       {"$.server_list[0]: invalid value 7: expected an object",
        "$.server_count: invalid number \"1\": expected 2, the length of server_list"}},
      {"rank as a number",
       with(kOne, R"("rank_id": "3")", R"("rank_id": 3)"),
       {"$.server_list[0].device[3].rank_id: invalid value 3: expected a string: version 1.0 requires quotes around "
        "every value"}},
      {"rank with a zero in front",
       with(kOne, R"("rank_id": "3")", R"("rank_id": "03")"),
       {"$.server_list[0].device[3].rank_id: invalid value \"03\": expected a whole number from 0 to 65536"}},
      {"no address",
       with(kOne, "10.0.3.1", "10.0.3.256"),
       {"$.server_list[0].device[3].device_ip: invalid address \"10.0.3.256\": expected an IP address"}},
      {"a loopback device",
       with(kOne, "10.0.3.1", "127.0.0.1"),
       {"$.server_list[0].device[3].device_ip: invalid address \"127.0.0.1\": other devices cannot connect to this "
        "address"}},
      {"server_id with stars",
       with(kOne, "10.0.0.1", "10.*.*.*"),
       {"$.server_list[0].server_id: invalid value \"10.*.*.*\": expected an address or a host name"}},
      {"server_id no address",
       with(kOne, "10.0.0.1", "10.0.0.300"),
       {"$.server_list[0].server_id: invalid address \"10.0.0.300\": expected an IP address"}},
      {"server_id empty",
       with(kOne, "10.0.0.1", ""),
       {"$.server_list[0].server_id: invalid value \"\": expected 1 to 64 characters"}},
      {"port out of range",
       with(kOne, R"("rank_id": "3")", R"("rank_id": "3", "host_port": "65536")"),
       {"$.server_list[0].device[3].host_port: invalid value \"65536\": expected a whole number from 1 to 65535"}},
  };
  for (const Case& test : cases) EXPECT_EQ(findings_of(test.text), test.findings) << test.what;
}

TEST(Rules, ReportInvalidRanks) {
  const Case cases[] = {
      {"twice",
       with(kOne, R"("rank_id": "3")", R"("rank_id": "2")"),
       {"$.server_list[0].device[3].rank_id: duplicate value: also $.server_list[0].device[2].rank_id",
        "$.server_list: missing rank 3"}},
      {"too high",
       with(kOne, R"("rank_id": "7")", R"("rank_id": "8")"),
       {"$.server_list[0].device[7].rank_id: invalid rank \"8\": expected 0 to 7, one rank per device",
        "$.server_list: missing rank 7"}},
      {"interleaved",
       with(with(with(kTwo, R"("rank_id": "7")", R"("rank_id": "x")"), R"("rank_id": "8")", R"("rank_id": "7")"),
            R"("rank_id": "x")", R"("rank_id": "8")"),
       {"$.server_list[0].device[7].rank_id: invalid rank \"8\": the ranks of a server must be consecutive",
        "$.server_list[1].device[1].rank_id: invalid rank \"9\": the ranks of a server must be consecutive"}},
      {"not in the order of server_id",
       table_text({{"10.0.0.9"}, {"10.0.0.10"}}),
       {"$.server_list[1].server_id: wrong order of ranks: server \"10.0.0.10\" begins at rank 8, after the ranks of "
        "server \"10.0.0.9\": sort the servers by the text of server_id"}},
  };
  for (const Case& test : cases) EXPECT_EQ(findings_of(test.text), test.findings) << test.what;
}

TEST(Rules, ReportInvalidServers) {
  const std::string crossed =
      "invalid devices \"3-4\": expected 2 or 4 devices, either all in 0-3 or all in 4-7, because these are two "
      "networks";
  const Case cases[] = {
      {"three devices",
       table_text({{"a", 0, 3}}),
       {"$.server_list[0].device: invalid number of devices \"3\": expected 1, 2, 4 or 8 on a server of Ascend 910 "
        "(for A2, set --product a2)"}},
      {"four each",
       table_text({{"a", 0, 4}, {"b", 0, 4}}),
       {"$.server_list[0].device: invalid number of devices \"4\": expected 8 on each server of Ascend 910 in a "
        "table with several servers (for A2, set --product a2)",
        "$.server_list[1].device: invalid number of devices \"4\": expected 8 on each server of Ascend 910 in a "
        "table with several servers (for A2, set --product a2)"}},
      {"eight and four",
       table_text({{"a"}, {"b", 0, 4}}),
       {"$.server_list[1].device: invalid number of devices \"4\": expected 8, as on the first server"}},
      {"crossing", table_text({{"a", 3, 2}}), {"$.server_list[0].device: " + crossed}},
      {"device 8",
       with(kOne, R"("device_id": "7")", R"("device_id": "8")"),
       {"$.server_list[0].device[7].device_id: invalid device \"8\": expected 0 to 7 (for A2, set --product a2)"}},
      {"one server twice",
       table_text({{"a"}, {"a"}}),
       {"$.server_list[1].server_id: duplicate value: also $.server_list[0].server_id"}},
      {"one device twice",
       with(kOne, R"("device_id": "3")", R"("device_id": "2")"),
       {"$.server_list[0].device[3].device_id: duplicate value: also $.server_list[0].device[2].device_id"}},
      {"one address twice",
       with(kTwo, "10.1.3.1", "10.0.5.1"),
       {"$.server_list[1].device[3].device_ip: duplicate value: also $.server_list[0].device[5].device_ip"}},
      {"two families",
       with(kOne, "10.0.3.1", "fd00::1"),
       {"$.server_list[0].device[3].device_ip: invalid IPv6 address: expected IPv4, as in the devices before"}},
      {"no address among several",
       with(kTwo, R"("device_ip": "10.1.3.1", )", ""),
       {"$.server_list[1].device[3].device_ip: missing key: required with several servers"}},
      {"no address on one", with(kOne, R"("device_ip": "10.0.3.1", )", ""), {}},
      {"loopback among several",
       with(kTwo, "10.0.0.1\"", "0.127\""),
       {"$.server_list[0].server_id: invalid address \"0.127\": expected an IP address"}},
      {"127.0.0.1 among several",
       table_text({{"10.0.0.1"}, {"127.0.0.1"}}),
       {"$.server_list[1].server_id: invalid address \"127.0.0.1\": other servers cannot connect to this address"}},
      {"127.0.0.1 alone",
       table_text({{"127.0.0.1"}}),
       {"note: $.server_list[0].server_id: \"127.0.0.1\" works for a single server only: the table cannot be merged"}},
      {"super pods in 1.0",
       with(kOne, "\"status\"", "\"super_pod_list\": [], \"status\""),
       {"$.super_pod_list: requires version 1.2"}},
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

TEST(Rules, ReportInvalidSuperPods) {
  const Case cases[] = {
      {"good", kPods, {}},
      {"no super_device_id",
       with(kPods, R"("super_device_id": "2", )", ""),
       {"$.server_list[1].device[0].super_device_id: missing key: required with super_pod_list"}},
      {"one super_device_id twice",
       with(kPods, R"("super_device_id": "2")", R"("super_device_id": "1")"),
       {"$.server_list[1].device[0].super_device_id: duplicate value: also $.server_list[0].device[1].super_device_id, "
        "in the same "
        "super pod"}},
      {"a server in no pod",
       with(kPods, R"(, {"server_id": "n1"}])", "]"),
       {"$.server_list[1].server_id: the server is not in a super pod"}},
      {"an unknown server",
       with(kPods, R"({"server_id": "n1"}])", R"({"server_id": "n2"}])"),
       {"$.super_pod_list[0].server_list: unknown server \"n2\": not in $.server_list",
        "$.server_list[1].server_id: the server is not in a super pod"}},
      {"a server twice",
       with(kPods, R"({"server_id": "n1"}])", R"({"server_id": "n1"}, {"server_id": "n0"}])"),
       {"$.super_pod_list[0].server_list: duplicate server \"n0\": already in a super pod"}},
      {"a numeric scalar",
       with(kPods, R"("super_pod_id": "0")", R"("super_pod_id": 0)"),
       {"$.super_pod_list[0].super_pod_id: invalid value 0: expected a string: version 1.2 requires quotes around "
        "every value"}},
  };
  for (const Case& test : cases) EXPECT_EQ(findings_of(test.text), test.findings) << test.what;
}

std::string v2_rank(int rank, int device, const std::string& server, const std::string& address) {
  const std::string id = std::to_string(device);
  return "{\"rank_id\": " + std::to_string(rank) + ", \"local_id\": " + id + ", \"device_id\": " + id +
         R"(, "level_list": [{"net_layer": 0, "net_instance_id": ")" + server +
         R"(", "net_type": "TOPO_FILE_DESC", "net_attr": "", "rank_addr_list": [{"addr_type": "IPV4", "addr": ")" +
         address + R"(", "ports": ["0/1"], "plane_id": "p"}]}]})";  // words:ok: JSON
}

const std::string kV2 = R"({"version": "2.0", "rank_count": 2, "rank_list": [)" + v2_rank(0, 0, "s0", "172.16.0.1") +
                        ",\n" + v2_rank(1, 1, "s0", "172.16.0.2") + "]}";

TEST(Rules, ReportInvalidTablesOfVersionTwo) {
  const std::string rank = "$.rank_list[1]", level = "$.rank_list[1].level_list[0]";
  const std::string second = kV2.substr(0, kV2.find('\n'));
  const auto spoilt = [&](const std::string& what, const std::string& instead) {
    return second + with(kV2.substr(second.size()), what, instead);
  };
  const Case cases[] = {
      {"good", kV2, {}},
      {"quotes",
       spoilt("\"rank_id\": 1", "\"rank_id\": \"1\""),
       {rank + ".rank_id: invalid value \"1\": expected a number without quotes"}},
      {"count",
       with(kV2, "\"rank_count\": 2", "\"rank_count\": 3"),
       {"$.rank_count: invalid number \"3\": expected 2, the length of rank_list"}},
      {"initializing",
       with(kV2, "\"rank_count\"", "\"status\": \"initializing\", \"rank_count\""),
       {"$.status: invalid status \"initializing\": expected \"completed\""}},
      {"local_id twice",
       spoilt("\"local_id\": 1", "\"local_id\": 0"),
       {rank + ".local_id: duplicate value: also $.rank_list[0].local_id"}},
      {"address twice",
       spoilt("172.16.0.2", "172.16.0.1"),
       {level + ".rank_addr_list[0].addr: duplicate value: also $.rank_list[0].level_list[0].rank_addr_list[0].addr"}},
      {"host's address twice", with(with(with(kV2, "172.16.0.2", "172.16.0.1"), "0/1", "d2h"), "0/1", "d2h"), {}},
      {"no EID",
       spoilt("IPV4", "EID"),
       {level + ".rank_addr_list[0].addr: invalid address \"172.16.0.2\": expected an EID of 32 hexadecimal digits"}},
      {"wrong family",
       spoilt("IPV4", "IPV6"),
       {level + ".rank_addr_list[0].addr: invalid address \"172.16.0.2\": expected an address of type IPV6"}},
      {"unknown type",
       spoilt("IPV4", "MAC"),
       {level + ".rank_addr_list[0].addr_type: invalid address type \"MAC\": expected EID, IPV4 or IPV6"}},
      {"ports as a string",
       spoilt("[\"0/1\"]", "\"0/1\""),
       {level + ".rank_addr_list[0].ports: invalid value \"0/1\": expected a list"}},
      {"port twice",
       spoilt("[\"0/1\"]", "[\"0/1\", \"0/1\"]"),
       {level + ".rank_addr_list[0].ports[1]: duplicate port \"0/1\": also " + level + ".rank_addr_list[0].ports[0]"}},
      {"layer",
       spoilt("\"net_layer\": 0", "\"net_layer\": 8"),
       {level + ".net_layer: invalid value 8: expected a whole number from 0 to 7"}},
      {"net_type",
       spoilt("TOPO_FILE_DESC", "CLOS"),
       {level + ".net_type: invalid network type \"CLOS\": expected TOPO_FILE_DESC on layer 0"}},
      {"interleaved",
       R"({"version": "2.0", "rank_count": 3, "rank_list": [)" + v2_rank(0, 0, "s0", "172.16.0.1") + "," +
           v2_rank(1, 0, "s1", "172.16.0.2") + "," + v2_rank(2, 1, "s0", "172.16.0.3") + "]}",
       {"note: $.rank_list[2].rank_id: invalid rank \"2\": the ranks of a server must be consecutive"}},
  };
  for (const Case& test : cases) EXPECT_EQ(findings_of(test.text), test.findings) << test.what;
}

TEST(Rules, ReportLineAndColumn) {
  const json::Json json = json_of(with(kOne, R"("rank_id": "3")", R"("rank_id": 3)"));
  const Reading reading = read_table(json);
  ASSERT_EQ(reading.findings.size(), 1u);
  EXPECT_EQ(std::pair(reading.findings[0].line, reading.findings[0].column), std::pair(6, 56));
}

std::vector<std::string> name_findings(std::string_view name, const std::string& text) {
  const json::Json json = json_of(text);
  const Reading reading = read_table(json);
  std::vector<std::string> texts;
  for (const TableFinding& finding : check_file_name(name, &*reading.table))
    texts.push_back((finding.note ? "note: " : "") + finding.what);
  return texts;
}

TEST(Rules, ReportInvalidFileNames) {
  EXPECT_THAT(name_findings("hccl_8p_01234567_10.0.0.1.json", kOne), IsEmpty());
  EXPECT_THAT(name_findings("rank_table_8pcs.json", kOne), IsEmpty());
  EXPECT_THAT(name_findings("hccl_4p_0123_10.0.0.1.json", table_text({{"a", 4, 4}})), IsEmpty());  // --visible_devices
  EXPECT_THAT(name_findings("hccl_2s_16p.json", kTwo), IsEmpty());
  EXPECT_THAT(name_findings("table.txt", kOne), ElementsAre("invalid file name: expected the ending .json"));
  EXPECT_THAT(name_findings("hccl_4p_0123_a.json", kOne),
              ElementsAre("note: the number of devices is 4 in the file name, but 8 in the table"));
  EXPECT_THAT(name_findings("hccl_2s_8p.json", kTwo),
              ElementsAre("note: the number of devices is 8 in the file name, but 16 in the table"));
  EXPECT_THAT(
      name_findings("hccl_8p_10234567_127.0.0.1.json", kOne),
      ElementsAre("note: the devices are 10234567 in the file name, but 01234567 in the table: scripts may not find "
                  "the file"));
}

}  // namespace
}  // namespace dlaunch::ranktable
