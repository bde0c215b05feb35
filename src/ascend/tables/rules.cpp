#include "ascend/tables/rules.h"

#include <map>
#include <set>

#include "base/index_cast.h"
#include "base/text.h"

namespace dlaunch::ranktable {
namespace {

using Findings = std::vector<TableFinding>;

std::string invalid_number(size_t count) { return "invalid number of devices \"" + std::to_string(count) + "\": "; }

void complain(const TableServer& server, std::string_view key, std::string what, Findings& findings) {
  findings.push_back(finding_at(*server.json, server.path, key, std::move(what)));
}

std::set<int> ids_of(const TableServer& server) {
  std::set<int> ids;
  for (const Device& device : server.devices) {
    if (device.device_id) ids.insert(static_cast<int>(*device.device_id));
  }
  return ids;
}

std::optional<long> first_rank(const TableServer& server) {
  std::optional<long> first;
  for (const Device& device : server.devices) {
    if (device.rank_id && (!first || *device.rank_id < *first)) first = device.rank_id;
  }
  return first;
}

/// Devices of several servers must reach each other; the super pod of A3 has its own network.
bool needs_device_ips(const Table& table) {
  if (table.super_pods) return table.super_pods->size() > 1;
  return table.servers.size() > 1;
}

void check_loopback(const Table& table, Findings& findings) {
  for (const TableServer& server : table.servers) {
    const auto address = parse_address(server.id);
    if (!address || !(address->loopback() || address->unspecified())) continue;
    const bool several = table.servers.size() > 1;
    TableFinding finding =
        finding_at(*server.json, server.path, "server_id",
                   several ? "invalid address \"" + server.id + "\": other servers cannot connect to this address"
                           : "\"" + server.id + "\" works for a single server only: the table cannot be merged");
    finding.note = !several;
    findings.push_back(std::move(finding));
  }
}

/// Checks that the super pod has no duplicate id; `ids` has the ids of its earlier servers.
void check_super_device_ids(const TableServer& server, std::map<long, std::string>& ids, Findings& findings) {
  for (const Device& device : server.devices) {
    if (!device.super_device_id) continue;
    const auto [known, added] = ids.emplace(*device.super_device_id, device.path);
    if (added) continue;
    findings.push_back(
        finding_at(*device.json, device.path, "super_device_id",
                   "duplicate value: also " + known->second + ".super_device_id, in the same super pod"));
  }
}

// These three functions return the expected value for people; empty if no rule is broken.

/// Checks the number of devices on a server; `alone`: the table has no other server.
std::string wrong_count(size_t count, bool alone, Product product) {
  if (product == Product::ascend910) {
    if (!alone)
      return count == 8
                 ? ""
                 : "expected 8 on each server of Ascend 910 in a table with several servers (for A2, set --product a2)";
    const bool good = count == 1 || count == 2 || count == 4 || count == 8;
    return good ? "" : "expected 1, 2, 4 or 8 on a server of Ascend 910 (for A2, set --product a2)";
  }
  return count <= 16 ? "" : "expected at most 16 on a server";
}

/// Checks `count` devices with these ids on a server.
std::string crossing(const std::set<int>& ids, size_t count, Product product) {
  const bool small = count == 2 || count == 4;
  if (product != Product::ascend910 || !small || ids.empty()) return "";
  if (*ids.begin() >= 4 || *ids.rbegin() < 4) return "";
  return "expected 2 or 4 devices, either all in 0-3 or all in 4-7, because these are two networks";
}

std::string too_high(long device, Product product) {
  const long highest = product == Product::ascend910 ? 7 : product == Product::ascend950 ? 64 : 15;
  if (device <= highest) return "";
  return "expected 0 to " + std::to_string(highest) +
         (product == Product::ascend910 ? " (for A2, set --product a2)" : "");
}

void check_server_counts(const Table& table, Product product, Findings& findings) {
  if (table.servers.empty() || table.servers.front().devices.empty()) return;
  const size_t first = table.servers.front().devices.size();
  for (const TableServer& server : table.servers) {
    const size_t count = server.devices.size();
    if (count == 0) continue;  // the missing devices have a finding already
    const std::string wrong = wrong_count(count, table.servers.size() == 1, product);
    if (count != first) {
      complain(server, "device",
               invalid_number(count) + "expected " + std::to_string(first) + ", as on the first server", findings);
    } else if (!wrong.empty()) {
      complain(server, "device", invalid_number(count) + wrong, findings);
    }
  }
}

void check_device_ids(const Table& table, Product product, Findings& findings) {
  for (const TableServer& server : table.servers) {
    for (const Device& device : server.devices) {
      const std::string wrong = device.device_id ? too_high(*device.device_id, product) : "";
      if (wrong.empty()) continue;
      findings.push_back(finding_at(*device.json, device.path, "device_id",
                                    "invalid device \"" + std::to_string(*device.device_id) + "\": " + wrong));
    }
    const auto ids = ids_of(server);
    if (const std::string wrong = crossing(ids, server.devices.size(), product); !wrong.empty()) {
      complain(server, "device", "invalid devices \"" + fold_ints(ids) + "\": " + wrong, findings);
    }
  }
}

void check_server_order(const Table& table, Findings& findings) {
  std::map<long, const TableServer*> by_rank;
  for (const TableServer& server : table.servers) {
    if (const auto rank = first_rank(server); rank && !server.id.empty()) by_rank.emplace(*rank, &server);
  }
  const TableServer* last = nullptr;
  for (const auto& [rank, server] : by_rank) {
    if (last && server->id < last->id) {
      complain(*server, "server_id",
               "wrong order of ranks: server " + json::described(json::Json::string(server->id)) + " begins at rank " +
                   std::to_string(rank) + ", after the ranks of server " +
                   json::described(json::Json::string(last->id)) + ": sort the servers by the text of server_id",
               findings);
    }
    last = server;
  }
}

/// Checks for missing addresses, loopback addresses and mixed IP versions.
void check_addresses(const Table& table, Findings& findings) {
  check_loopback(table, findings);
  std::optional<bool> v6;
  for (const TableServer& server : table.servers) {
    for (const Device& device : server.devices) {
      if (!device.json->find("device_ip") && needs_device_ips(table)) {
        findings.push_back(
            finding_at(*device.json, device.path, "device_ip", "missing key: required with several servers"));
      }
      if (!device.device_ip) continue;
      if (v6 && *v6 != device.device_ip->v6) {
        findings.push_back(finding_at(*device.json, device.path, "device_ip",
                                      std::string("invalid IPv") + (*v6 ? "4" : "6") + " address: expected IPv" +
                                          (*v6 ? "6" : "4") + ", as in the devices before"));
      }
      if (!v6) v6 = device.device_ip->v6;
    }
  }
}

void check_super_pods(const Table& table, Findings& findings) {
  std::map<std::string, const TableServer*> servers;
  for (const TableServer& server : table.servers) servers.emplace(server.id, &server);
  std::set<std::string> placed, pods;
  for (const SuperPod& pod : *table.super_pods) {
    if (!pod.id.empty() && !pods.insert(pod.id).second)
      findings.push_back(
          finding_at(*pod.json, pod.path, "super_pod_id", "duplicate value: another super pod has this id"));
    std::map<long, std::string> ids;
    for (const std::string& name : pod.servers) {
      const auto found = servers.find(name);
      const bool again = !placed.insert(name).second;
      if (found != servers.end() && !again) {
        check_super_device_ids(*found->second, ids, findings);
        continue;
      }
      findings.push_back(finding_at(*pod.json, pod.path, "server_list",
                                    (again ? "duplicate server " : "unknown server ") +
                                        json::described(json::Json::string(name)) +
                                        (again ? ": already in a super pod" : ": not in $.server_list")));
    }
  }
  for (const TableServer& server : table.servers) {
    if (!server.id.empty() && !placed.contains(server.id))
      complain(server, "server_id", "the server is not in a super pod", findings);
    for (const Device& device : server.devices) {
      if (device.json->find("super_device_id")) continue;
      findings.push_back(
          finding_at(*device.json, device.path, "super_device_id", "missing key: required with super_pod_list"));
    }
  }
}

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

namespace {

using plan::DeviceKind;

std::string devices(size_t count) { return std::to_string(count) + (count == 1 ? " device" : " devices"); }

std::set<int> devices_of(const plan::Plan& plan, const plan::PlannedHost& host) {
  std::set<int> ids;
  for (const int rank : host.ranks) {
    if (const auto& device = plan.rank(rank).device) ids.insert(*device);
  }
  return ids;
}

bool counts(const plan::Host& host, bool stand_ins) {
  if (host.device_kind == DeviceKind::ascend) return true;
  return stand_ins && (host.device_kind == DeviceKind::fake || host.device_kind == DeviceKind::named);
}

}  // namespace

std::vector<BrokenRule> broken_rules(const plan::Plan& plan, Product product, bool stand_ins) {
  std::vector<BrokenRule> broken;
  const bool alone = plan.hosts.size() == 1;
  std::optional<size_t> first;
  for (const plan::PlannedHost& planned : plan.hosts) {
    const std::set<int> ids = devices_of(plan, planned);
    if (ids.empty() || !counts(planned.host, stand_ins)) continue;
    const auto add = [&](const std::string& what, const std::string& rule) {
      if (!rule.empty()) broken.push_back({planned.host.name, what, rule});
    };
    const size_t count = ids.size();
    if (const std::string rule = wrong_count(count, alone, product); !rule.empty()) {
      add("has " + devices(count), rule);
    } else if (first.value_or(count) != count) {
      add("has " + devices(count), "expected " + std::to_string(*first) + ", as on the first host");
    }
    if (!first) first = count;
    add("has devices " + fold_ints(ids), crossing(ids, count, product));
    add("has device " + std::to_string(*ids.rbegin()), too_high(*ids.rbegin(), product));
  }
  return broken;
}

}  // namespace dlaunch::ranktable
