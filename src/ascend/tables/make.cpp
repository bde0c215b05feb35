#include "ascend/tables/make.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/try.h"

namespace dlaunch::ranktable {
namespace {

/// A device of a host and its rank.
struct Seat {
  long device = 0;
  long rank = 0;
};

struct Row {
  const HostFacts* facts = nullptr;
  std::vector<Seat> seats;
};

Result<json::Json> root_info_of(const HostFacts& facts) {
  auto json = json::parse_json(facts.root_info, facts.server_id);
  return facts.root_info.empty() ? json::Json::object() : std::move(json);
}

Error no_address(const HostFacts& facts, long device, const char* what) {
  return {.where = facts.server_id,
          .what = std::string("missing ") + what + " of device " + std::to_string(device),
          .why = "",
          .hint = "check the device: hccn_tool -i " + std::to_string(device) + " -ip -g"};
}

Result<json::Json> device_json(const Row& row, Seat seat, bool in_super_pod) {
  json::Json device = json::Json::object();
  device.set("device_id", json::Json::string(std::to_string(seat.device)));
  const auto ip = row.facts->device_ips.find(seat.device);
  if (ip != row.facts->device_ips.end()) device.set("device_ip", json::Json::string(ip->second));
  if (ip == row.facts->device_ips.end() && !in_super_pod) return fail(no_address(*row.facts, seat.device, "address"));
  if (in_super_pod) {
    const auto id = row.facts->super_device_ids.find(seat.device);
    if (id == row.facts->super_device_ids.end())
      return fail(no_address(*row.facts, seat.device, "id in the super pod"));
    device.set("super_device_id", json::Json::string(std::to_string(id->second)));
  }
  device.set("rank_id", json::Json::string(std::to_string(seat.rank)));
  return device;
}

Result<json::Json> server_json(const Row& row, bool in_super_pod) {
  json::Json server = json::Json::object();
  server.set("server_id", json::Json::string(row.facts->server_id));
  if (!row.facts->host_ip.empty()) server.set("host_ip", json::Json::string(row.facts->host_ip));
  json::Json& devices = server.set("device", json::Json::array());
  for (const Seat seat : row.seats) {
    auto device = device_json(row, seat, in_super_pod);
    if (!device) return device;
    devices.items.push_back(*std::move(device));
  }
  server.set("host_nic_ip", json::Json::string("reserve"));
  return server;
}

/// The super pods in the order of their first server.
json::Json super_pods(const std::vector<Row>& rows) {
  json::Json list = json::Json::array();
  std::map<std::string, size_t> known;
  for (const Row& row : rows) {
    const auto [at, added] = known.emplace(row.facts->super_pod_id, list.items.size());
    if (added) {
      json::Json& pod = list.items.emplace_back(json::Json::object());
      pod.set("super_pod_id", json::Json::string(row.facts->super_pod_id));
      pod.set("server_list", json::Json::array());
    }
    json::Json server = json::Json::object();
    server.set("server_id", json::Json::string(row.facts->server_id));
    list.items[at->second].members.back().value.items.push_back(std::move(server));
  }
  return list;
}

Result<json::Json> server_list_table(Version version, const std::vector<Row>& rows) {
  const bool in_super_pods = version == Version::v1_2 && std::any_of(rows.begin(), rows.end(), [](const Row& row) {
                               return !row.facts->super_pod_id.empty();
                             });
  json::Json table = json::Json::object();
  table.set("version", json::Json::string(to_string(version)));
  table.set("server_count", json::Json::string(std::to_string(rows.size())));
  json::Json servers = json::Json::array();
  for (const Row& row : rows) {
    auto server = server_json(row, in_super_pods);
    if (!server) return server;
    servers.items.push_back(*std::move(server));
  }
  table.set("server_list", std::move(servers));
  if (in_super_pods) table.set("super_pod_list", super_pods(rows));
  table.set("status", json::Json::string("completed"));
  return table;
}

const json::Json* root_rank(const json::Json& root_info, long device) {
  const json::Json* list = root_info.find("rank_list");
  if (!list) return nullptr;
  for (const json::Json& rank : list->items) {
    const json::Json* id = rank.find("device_id");
    if (id && id->is(json::Json::Kind::number) && json::whole_number(id->text) == device) return &rank;
  }
  return nullptr;
}

Result<json::Json> rank_list_table(const std::vector<Row>& rows) {
  json::Json ranks = json::Json::array();
  for (const Row& row : rows) {
    const json::Json root_info = TRY(root_info_of(*row.facts));
    for (const Seat seat : row.seats) {
      const json::Json* known = root_rank(root_info, seat.device);
      if (!known) return fail(no_address(*row.facts, seat.device, "entry in the root information"));
      json::Json rank = json::Json::object();
      rank.set("rank_id", json::Json::number(seat.rank));
      for (const json::Json::Member& member : known->members) {
        if (member.key != "rank_id") rank.set(member.key, member.value);
      }
      ranks.items.push_back(std::move(rank));
    }
  }
  json::Json table = json::Json::object();
  table.set("version", json::Json::string(to_string(Version::v2_0)));
  table.set("status", json::Json::string("completed"));
  table.set("rank_count", json::Json::number(static_cast<long>(ranks.items.size())));
  table.set("rank_list", std::move(ranks));
  return table;
}

Result<json::Json> checked_table(Version version, Product product, const std::vector<Row>& rows) {
  auto table = version == Version::v2_0 ? rank_list_table(rows) : server_list_table(version, rows);
  if (!table) return table;
  if (auto broken = first_broken(*table, product)) return fail(*std::move(broken));
  return table;
}

std::string joined(const std::vector<long>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), std::string(),
                         [](std::string text, long n) { return std::move(text) + std::to_string(n); });
}

}  // namespace

std::optional<Error> first_broken(const json::Json& table, Product product) {
  const Reading reading = read_table(table);
  auto findings = reading.findings;
  if (reading.table && findings.empty()) findings = check_rules(*reading.table, product);
  const auto broken = std::find_if(findings.begin(), findings.end(), [](const TableFinding& f) { return !f.note; });
  if (broken == findings.end()) return std::nullopt;
  return Error{.where = "rank table",
               .what = "the table would break a rule",
               .why = broken->path + ": " + broken->what,
               .hint = "use other devices or servers; docs/rank-tables.md lists the rules"};
}

Result<json::Json> make_table(Version version, Product product, std::vector<HostFacts> hosts) {
  std::stable_sort(hosts.begin(), hosts.end(),
                   [](const HostFacts& a, const HostFacts& b) { return a.server_id < b.server_id; });
  std::vector<Row> rows;
  long rank = 0;
  for (const HostFacts& facts : hosts) {
    Row& row = rows.emplace_back(Row{&facts, {}});
    for (const long device : facts.devices) row.seats.push_back({device, rank++});
  }
  return checked_table(version, product, rows);
}

Result<json::Json> make_table(Version version, Product product, const plan::Plan& plan,
                              const std::vector<HostFacts>& facts) {
  if (facts.size() != plan.hosts.size()) {
    return fail({.where = "rank table",
                 .what = "missing addresses: only " + std::to_string(facts.size()) + " of " +
                         std::to_string(plan.hosts.size()) + " hosts reported the addresses of their devices",
                 .why = "",
                 .hint = "check all hosts: dlaunch check"});
  }
  std::vector<Row> rows;
  for (const HostFacts& known : facts) rows.push_back({&known, {}});
  for (const plan::Rank& rank : plan.ranks) {
    if (!rank.device) {
      return fail({.where = "rank " + std::to_string(rank.rank),
                   .what = "missing device: a rank table requires a device per rank",
                   .why = "",
                   .hint = "start at most one rank per device on " + plan.host_of(rank).host.name});
    }
    rows.at(static_cast<size_t>(rank.host)).seats.push_back({*rank.device, rank.rank});
  }
  return checked_table(version, product, rows);
}

std::string file_name(const std::vector<long>& numbers, const std::string& server_id) {
  return "hccl_" + std::to_string(numbers.size()) + "p_" + joined(numbers) + "_" + server_id + ".json";
}

std::string file_name(size_t servers, size_t ranks) {
  return "hccl_" + std::to_string(servers) + "s_" + std::to_string(ranks) + "p.json";
}

namespace {

Error refusal(const std::string& file, std::string what, std::string why, std::string hint) {
  return {.where = file, .what = std::move(what), .why = std::move(why), .hint = std::move(hint)};
}

struct Source {
  const NamedJson* file = nullptr;
  Table table;
};

Result<std::vector<Source>> read_all(const std::vector<NamedJson>& files) {
  std::vector<Source> sources;
  for (const NamedJson& file : files) {
    Reading reading = read_table(file.json);
    if (any_broken(reading.findings) || !reading.table) {
      const TableFinding& finding = reading.findings.front();
      return fail(refusal(file.name + ":" + std::to_string(finding.line) + ":" + std::to_string(finding.column),
                          "cannot be merged", finding.path + ": " + finding.what,
                          "check the table: dlaunch ranktable check " + file.name));
    }
    if (!sources.empty() && sources.front().table.version != reading.table->version) {
      return fail(refusal(file.name, "cannot be merged with " + sources.front().file->name,
                          "this table has version " + std::string(to_string(reading.table->version)) +
                              ", the other has " + std::string(to_string(sources.front().table.version)),
                          "use one version for both: dlaunch ranktable make --version"));
    }
    if (!sources.empty() && sources.front().table.super_pods.has_value() != reading.table->super_pods.has_value()) {
      return fail(refusal(file.name, "cannot be merged with " + sources.front().file->name,
                          "only one table has a super_pod_list", "use super pods in both tables, or in neither"));
    }
    sources.push_back({&file, *std::move(reading.table)});
  }
  return sources;
}

/// A server of one of the tables.
struct ServerRow {
  const TableServer* server = nullptr;
  const NamedJson* file = nullptr;
};

Result<std::vector<ServerRow>> rows_in_order(const std::vector<Source>& sources) {
  std::map<std::string, const NamedJson*> owners;
  std::vector<ServerRow> rows;
  for (const Source& source : sources) {
    for (const TableServer& server : source.table.servers) {
      const auto [owner, added] = owners.emplace(server.id, source.file);
      if (!added) {
        return fail(refusal(
            source.file->name,
            "duplicate server " + json::described(json::Json::string(server.id)) + ": also in " + owner->second->name,
            "", "give one table per server; set different addresses with --server_ip"));
      }
      rows.push_back({&server, source.file});
    }
  }
  std::sort(rows.begin(), rows.end(),
            [](const ServerRow& a, const ServerRow& b) { return a.server->id < b.server->id; });
  return rows;
}

std::vector<const Device*> by_rank(const TableServer& server) {
  std::vector<const Device*> devices;
  for (const Device& device : server.devices) devices.push_back(&device);
  std::stable_sort(devices.begin(), devices.end(),
                   [](const Device* a, const Device* b) { return a->rank_id.value_or(0) < b->rank_id.value_or(0); });
  return devices;
}

/// The devices of the servers with ranks from 0, as server objects (1.x) or as ranks (2.0).
json::Json renumbered(const std::vector<ServerRow>& rows, Version version) {
  json::Json list = json::Json::array();
  long rank = 0;
  for (const ServerRow& row : rows) {
    json::Json devices = json::Json::array();
    for (const Device* device : by_rank(*row.server)) {
      json::Json copy = *device->json;
      copy.set("rank_id",
               version == Version::v2_0 ? json::Json::number(rank) : json::Json::string(std::to_string(rank)));
      ++rank;
      devices.items.push_back(std::move(copy));
    }
    if (version == Version::v2_0) {
      std::move(devices.items.begin(), devices.items.end(), std::back_inserter(list.items));
    } else {
      json::Json server = *row.server->json;
      server.set("device", std::move(devices));
      list.items.push_back(std::move(server));
    }
  }
  return list;
}

/// Joins pods with the same id.
json::Json merged_super_pods(const std::vector<Source>& sources) {
  json::Json list = json::Json::array();
  std::map<std::string, size_t> known;
  for (const Source& source : sources) {
    for (const SuperPod& pod : *source.table.super_pods) {
      const auto [at, added] = known.emplace(pod.id, list.items.size());
      if (added) {
        list.items.push_back(*pod.json);
        continue;
      }
      json::Json servers = *list.items[at->second].find("server_list");
      const auto& more = pod.json->find("server_list")->items;
      servers.items.insert(servers.items.end(), more.begin(), more.end());
      list.items[at->second].set("server_list", std::move(servers));
    }
  }
  return list;
}

}  // namespace

Result<Merged> merge_tables(std::vector<NamedJson> tables, std::optional<Product> product) {
  const auto sources = TRY(read_all(tables));
  const auto rows = TRY(rows_in_order(sources));
  const Version version = sources.front().table.version;
  Merged merged{.json = tables.front().json, .servers = rows.size(), .ranks = 0};
  for (const ServerRow& row : rows) merged.ranks += row.server->devices.size();
  json::Json list = renumbered(rows, version);
  if (version == Version::v2_0) {
    merged.json.set("rank_count", json::Json::number(static_cast<long>(merged.ranks)));
    merged.json.set("rank_list", std::move(list));
  } else {
    merged.json.set("server_count", json::Json::string(std::to_string(merged.servers)));
    merged.json.set("server_list", std::move(list));
  }
  if (sources.front().table.super_pods) merged.json.set("super_pod_list", merged_super_pods(sources));
  if (auto broken = first_broken(merged.json, product.value_or(usual_product(version)))) {
    broken->what = "cannot merge: the merged table would break a rule";
    return fail(*std::move(broken));
  }
  return merged;
}

}  // namespace dlaunch::ranktable
