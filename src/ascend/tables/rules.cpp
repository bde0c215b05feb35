#include "ascend/tables/rules.h"

#include <map>
#include <set>

#include "ascend/tables/fields.h"
#include "ascend/tables/server_rules.h"
#include "base/index_cast.h"
#include "base/text.h"

namespace dlaunch::ranktable {
namespace {

using Findings = std::vector<TableFinding>;

/// Finds duplicate values and the path of their first use.
template <class Key>
class Once {
 public:
  /// Adds `key` with `path`. Returns the earlier path if `key` is a duplicate, else null.
  const std::string* taken(const Key& key, const std::string& path) {
    const auto [known, added] = first_.emplace(key, path);
    return added ? nullptr : &known->second;
  }

 private:
  std::map<Key, std::string> first_;
};

template <class Key>
void once(Once<Key>& seen, const std::optional<Key>& key, const json::Json& object, const std::string& path,
          std::string_view field, Findings& findings) {
  if (!key) return;
  const std::string* other = seen.taken(*key, path + "." + std::string(field));
  if (!other) return;
  findings.push_back(finding_at(object, path, field, "duplicate value: also " + *other));
}

void check_ranks(const Table& table, Findings& findings) {
  const auto count = static_cast<long>(table.rank_count());
  Once<long> seen;
  std::vector<bool> found(static_cast<size_t>(count), false);
  for (const TableServer& server : table.servers) {
    for (const Device& device : server.devices) {
      if (!device.rank_id) return;  // this device has a finding already; the missing ranks are unknown
      if (*device.rank_id >= count) {
        findings.push_back(finding_at(*device.json, device.path, "rank_id",
                                      "invalid rank \"" + std::to_string(*device.rank_id) + "\": expected 0 to " +
                                          std::to_string(count - 1) + ", one rank per device"));
        continue;
      }
      once(seen, device.rank_id, *device.json, device.path, "rank_id", findings);
      at_index(found, *device.rank_id) = true;
    }
  }
  std::set<int> missing;
  for (size_t rank = 0; rank < found.size(); ++rank) {
    if (!found[rank]) missing.insert(static_cast<int>(rank));
  }
  if (missing.empty()) return;
  const std::string_view list = table.version == Version::v2_0 ? "rank_list" : "server_list";
  const std::string what = missing.size() == 1 ? "missing rank " : "missing ranks ";
  findings.push_back(finding_at(*table.json, "$", list, what + fold_ints(missing)));
}

/// Checks that the ranks of each server are consecutive.
void check_interleaving(const Table& table, Findings& findings) {
  std::map<long, const TableServer*> owners;
  for (const TableServer& server : table.servers) {
    for (const Device& device : server.devices) {
      if (device.rank_id) owners.emplace(*device.rank_id, &server);
    }
  }
  std::set<const TableServer*> left;
  const TableServer* last = nullptr;
  for (const auto& [rank, server] : owners) {
    if (server == last) continue;
    if (last) left.insert(last);
    last = server;
    if (!left.contains(server)) continue;
    const auto device = std::find_if(server->devices.begin(), server->devices.end(),
                                     [&, r = rank](const Device& d) { return d.rank_id == r; });
    TableFinding finding =
        finding_at(*device->json, device->path, "rank_id",
                   "invalid rank \"" + std::to_string(rank) + "\": the ranks of a server must be consecutive");
    finding.note = table.version == Version::v2_0;
    findings.push_back(std::move(finding));
  }
}

void check_links(const Device& device, Once<std::pair<long, std::string>>& seen, Findings& findings) {
  for (const DeviceLink& link : device.links) {
    if (link.of_host) continue;
    const std::string* other = seen.taken({link.layer, link.address}, link.path + ".addr");
    if (other) findings.push_back(finding_at(*link.json, link.path, "addr", "duplicate value: also " + *other));
  }
}

void check_devices(const Table& table, Findings& findings) {
  Once<Address> addresses;
  Once<std::pair<long, std::string>> links;
  for (const TableServer& server : table.servers) {
    Once<long> ids, local_ids, host_ports;
    for (const Device& device : server.devices) {
      once(ids, device.device_id, *device.json, device.path, "device_id", findings);
      once(local_ids, device.local_id, *device.json, device.path, "local_id", findings);
      once(host_ports, device.host_port, *device.json, device.path, "host_port", findings);
      once(addresses, device.device_ip, *device.json, device.path, "device_ip", findings);
      check_links(device, links, findings);
    }
  }
}

void check_servers(const Table& table, Findings& findings) {
  Once<std::string> seen;
  for (const TableServer& server : table.servers) {
    const std::optional<std::string> id = server.id.empty() ? std::nullopt : std::optional(server.id);
    if (server.json) once(seen, id, *server.json, server.path, "server_id", findings);
  }
}

}  // namespace

std::string_view to_string(Product product) {
  switch (product) {
    case Product::ascend910:
      return "910";
    case Product::a2:
      return "a2";
    case Product::a3:
      return "a3";
    case Product::ascend950:
      break;
  }
  return "950";
}

std::optional<Product> parse_product(std::string_view text) {
  for (const Product product : {Product::ascend910, Product::a2, Product::a3, Product::ascend950}) {
    if (text == to_string(product)) return product;
  }
  return std::nullopt;
}

Product usual_product(Version version) {
  return version == Version::v1_0 ? Product::ascend910 : version == Version::v1_2 ? Product::a3 : Product::ascend950;
}

std::vector<TableFinding> check_rules(const Table& table, Product product) {
  Findings findings;
  check_ranks(table, findings);
  check_servers(table, findings);
  check_interleaving(table, findings);
  check_devices(table, findings);
  if (table.version == Version::v2_0) return findings;
  check_server_counts(table, product, findings);
  check_device_ids(table, product, findings);
  check_server_order(table, findings);
  check_addresses(table, findings);
  if (table.super_pods) check_super_pods(table, findings);
  return findings;
}

}  // namespace dlaunch::ranktable
