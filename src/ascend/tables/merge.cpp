#include "ascend/tables/merge.h"

#include <algorithm>
#include <map>

#include "base/try.h"

namespace dlaunch::ranktable {
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
struct Row {
  const TableServer* server = nullptr;
  const NamedJson* file = nullptr;
};

Result<std::vector<Row>> rows_in_order(const std::vector<Source>& sources) {
  std::map<std::string, const NamedJson*> owners;
  std::vector<Row> rows;
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
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.server->id < b.server->id; });
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
json::Json renumbered(const std::vector<Row>& rows, Version version) {
  json::Json list = json::Json::array();
  long rank = 0;
  for (const Row& row : rows) {
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
  for (const Row& row : rows) merged.ranks += row.server->devices.size();
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
