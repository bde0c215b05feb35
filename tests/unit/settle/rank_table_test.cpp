// --rank-table FILE: the options that follow from a table.
#include "settle/rank_table.h"

#include "command_line_fixture.h"

namespace dlaunch::settle {
namespace {

using cli::CommandLineFixture;
using cli::Words;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A table of version 1.0. Each server has `devices` devices, numbered from `first`.
std::string table_of(const std::vector<std::string>& servers, int devices, int first = 0) {
  std::string list;
  int rank = 0;
  for (size_t s = 0; s < servers.size(); ++s) {
    std::string mine;
    for (int d = first; d < first + devices; ++d) {
      const std::string id = std::to_string(d);
      mine += (mine.empty() ? "" : ",") + std::string(R"({"device_id":")") + id + R"(","device_ip":"192.168.)" +
              std::to_string(s) + "." + std::to_string(d + 1) + R"(","rank_id":")" + std::to_string(rank++) + "\"}";
    }
    list += (list.empty() ? "" : ",") + std::string(R"({"server_id":")") + servers[s] + R"(","device":[)" + mine + "]}";
  }
  return R"({"version":"1.0","server_list":[)" + list + R"(],"status":"completed"})";
}

class RankTableOption : public testing::Test {
 protected:
  Result<std::vector<std::string>> follow(Words words) {
    words.insert(words.begin(), {"--rank-table", "t.json"});
    words.emplace_back("prog");
    options = fixture.options(words);
    const TablePlaces read = TRY(read_with_names());
    table_ = read;
    return read.notes;
  }
  /// The table; `same` has the addresses of names.
  Result<TablePlaces> read_with_names() {
    Facts facts;
    facts.add(FindOwnNames{}, {{"here"}, {}});
    while (true) {
      auto read = read_rank_table(options, facts);
      if (read) return *read;
      if (const auto* error = std::get_if<Error>(&read.error())) return fail(*error);
      for (const Question& question : std::get<std::vector<Question>>(read.error())) {
        const auto& name = std::get<LookUp>(question);
        std::vector<std::string> addresses;
        for (const auto& [listed, address] : same) {
          if (listed == name.name) addresses.push_back(address);
        }
        facts.add(name, {addresses, ""});
      }
    }
  }
  std::string error(const Words& words) {
    const auto followed = follow(words);
    return followed ? "" : to_text(followed.error());
  }
  std::vector<std::string> places() const {
    std::vector<std::string> list;
    for (const plan::RankPlace& place : table_.places) list.push_back(std::to_string(place.rank) + " " + place.host);
    return list;
  }

  void table(const std::string& text) { fixture.files["/cwd/t.json"] = text; }

  CommandLineFixture fixture;
  cli::Options options;
  TablePlaces table_;
  std::vector<std::pair<std::string, std::string>> same;
};

TEST_F(RankTableOption, SetsHostsRanksAndDevices) {
  table(table_of({"10.0.0.1"}, 4, 4));
  const auto notes = follow({});
  ASSERT_TRUE(notes) << to_text(notes.error());
  EXPECT_THAT(*notes, IsEmpty());
  ASSERT_EQ(table_.hosts.size(), 1u);
  const hosts::HostEntry& host = table_.hosts.front();
  EXPECT_EQ(host.name, "10.0.0.1");
  EXPECT_EQ(host.slots, 4);
  EXPECT_EQ(host.devices, (std::vector<int>{4, 5, 6, 7}));
  EXPECT_THAT(places(), ElementsAre("0 10.0.0.1", "1 10.0.0.1", "2 10.0.0.1", "3 10.0.0.1"));
  EXPECT_TRUE(options.request.rank_table);
}

TEST_F(RankTableOption, HostListSetsConnectionOptions) {
  table(table_of({"10.0.0.1", "10.0.0.2"}, 8));
  fixture.files["/cwd/hosts"] = "b port=22 slots=8\na port=2222 wdir=/w\n";
  same = {{"a", "10.0.0.1"}, {"b", "10.0.0.2"}};
  ASSERT_TRUE(follow({"--hostfile", "hosts"}));
  ASSERT_EQ(table_.hosts.size(), 2u);
  EXPECT_EQ(table_.hosts[0].name, "a");
  EXPECT_EQ(table_.hosts[0].reach.port, 2222);
  EXPECT_EQ(table_.hosts[0].wdir, "/w");
  EXPECT_EQ(table_.hosts[1].name, "b");
  EXPECT_EQ(places()[7], "7 a");
  EXPECT_EQ(places()[8], "8 b");
}

TEST_F(RankTableOption, AcceptsAnotherNameOfASingleHost) {
  table(table_of({"10.0.0.1"}, 8));
  const auto notes = follow({"-H", "a"});
  ASSERT_TRUE(notes);
  EXPECT_THAT(*notes, ElementsAre("a has the name 10.0.0.1 in t.json"));
  EXPECT_EQ(table_.hosts[0].name, "a");
  ASSERT_TRUE(follow({"-H", "10.0.0.1:8"}));
}

TEST_F(RankTableOption, ConnectsToTheHostIpOfAServer) {
  std::string text = table_of({"server-1"}, 1);
  table(text.replace(text.find("\"device\""), 0, "\"host_ip\":\"10.0.0.7\","));
  ASSERT_TRUE(follow({}));
  EXPECT_EQ(table_.hosts[0].name, "10.0.0.7");
  EXPECT_THAT(follow({"-H", "server-1"}).value(), IsEmpty());
}

TEST_F(RankTableOption, RejectsContradictingOptions) {
  table(table_of({"10.0.0.1", "10.0.0.2"}, 8));
  EXPECT_THAT(error({"-H", "10.0.0.1"}), HasSubstr("host \"10.0.0.2\" of t.json: not found in the host list"));
  EXPECT_THAT(error({"-H", "10.0.0.1,10.0.0.2,c"}), HasSubstr("unknown host \"c\": t.json has "));
  EXPECT_THAT(error({"-H", "10.0.0.1:4,10.0.0.2"}), HasSubstr("10.0.0.1 has 4 slots"));
  fixture.files["/cwd/hosts"] = "10.0.0.1 devices=0-3\n10.0.0.2\n";
  EXPECT_THAT(error({"--hostfile", "hosts"}), HasSubstr("10.0.0.1 has the devices 0-3"));
  EXPECT_THAT(error({"-n", "8"}), HasSubstr("--rank-table conflicts with -n: the table has 16 ranks, -n sets 8"));
  EXPECT_EQ(error({"-n", "16"}), "");
  EXPECT_EQ(error({"-H", "10.0.0.2,10.0.0.1"}), "");
}

TEST_F(RankTableOption, RejectsPlacementOptions) {
  table(table_of({"10.0.0.1"}, 8));
  fixture.files["/cwd/ranks"] = "rank 0=a\n";
  for (const Words& words : std::vector<Words>{{"--devices", "0-3"},
                                               {"--include", "a"},
                                               {"--exclude", "a"},
                                               {"-N", "8"},
                                               {"--map-by", "node"},
                                               {"--map-by", "seq"},
                                               {"--rankfile", "ranks"},
                                               {"--fake-devices", "8"}}) {
    EXPECT_THAT(error(words), HasSubstr("--rank-table conflicts with " + words.front())) << words.front();
  }
}

TEST_F(RankTableOption, OverridesVariablesAndDefaultsOfMpirun) {
  table(table_of({"10.0.0.1"}, 4));
  fixture.environment = {"DLAUNCH_FAKE_DEVICES=8", "DLAUNCH_MAP_BY=node"};
  EXPECT_EQ(error({}), "");
  EXPECT_EQ(options.hosts.fake_devices, std::nullopt);
  EXPECT_EQ(options.request.binding.map_by, plan::MapBy::slot);
  fixture.environment = {"OMPI_MCA_rmaps_base_mapping_policy=seq"};
  fixture.program_name = "mpirun";
  EXPECT_EQ(error({}), "");
  EXPECT_EQ(options.hosts.fake_devices, std::nullopt);
  EXPECT_THAT(options.request.frameworks, IsEmpty()) << "MindSpore would take its device from Open MPI's variables";
}

TEST_F(RankTableOption, RejectsAMalformedTableWithItsPosition) {
  table(table_of({"10.0.0.1"}, 3));
  EXPECT_THAT(error({}), HasSubstr("t.json:1:"));
  EXPECT_THAT(error({}), HasSubstr("dlaunch ranktable check t.json"));
  EXPECT_EQ(error({"--product", "a2"}), "");
  table("{");
  EXPECT_THAT(error({}), HasSubstr("t.json:1:2"));
  table(R"({"version":"1.0","server_list":[]})");
  EXPECT_THAT(error({}), HasSubstr("t.json:1:"));
  fixture.files["/cwd/t.txt"] = table_of({"10.0.0.1"}, 1);
  options = fixture.options({"--rank-table", "t.txt", "prog"});
  EXPECT_THAT(to_text(read_with_names().error()), HasSubstr("expected the ending .json"));
}

TEST_F(RankTableOption, Version2RequiresAHostList) {
  const auto rank = [](int id, int device, const char* server) {
    return R"({"rank_id":)" + std::to_string(id) + R"(,"local_id":)" + std::to_string(device) + R"(,"device_id":)" +
           std::to_string(device) + R"(,"level_list":[{"net_layer":0,"net_instance_id":")" + server +
           R"(","net_type":"TOPO_FILE_DESC","net_attr":"","rank_addr_list":[{"addr_type":"IPV4","addr":"192.168.0.)" +
           std::to_string(id + 1) + R"(","ports":["1/1"],"plane_id":"0"}]}]})";
  };
  table(R"({"version":"2.0","rank_count":2,"rank_list":[)" + rank(0, 0, "s1") + "," + rank(1, 0, "s2") + "]}");
  EXPECT_THAT(error({}), HasSubstr("missing hosts: t.json has 2 servers without host names"));
  ASSERT_EQ(error({"-H", "b,a"}), "");
  EXPECT_THAT(places(), ElementsAre("0 b", "1 a"));
  table(R"({"version":"2.0","rank_count":1,"rank_list":[)" + rank(0, 3, "s1") + "]}");
  ASSERT_EQ(error({}), "");
  EXPECT_THAT(places(), ElementsAre("0 localhost"));
}

TEST_F(RankTableOption, ParsesItsOptions) {
  EXPECT_TRUE(fixture.options({"--rank-table", "auto", "prog"}).rank_table->automatic);
  EXPECT_THAT(fixture.error({"--rank-table", "gone.json", "prog"}), HasSubstr("/cwd/gone.json"));
  EXPECT_THAT(fixture.error({"--product", "911", "prog"}), HasSubstr("910"));
  EXPECT_THAT(fixture.error({"--ascend", "prog"}), HasSubstr("--ascend requires check"));
  EXPECT_TRUE(fixture.options({"check", "--ascend"}).check_ascend);
}

}  // namespace
}  // namespace dlaunch::settle
