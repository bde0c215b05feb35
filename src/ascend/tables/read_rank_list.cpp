// Reads version 2.0: ranks with their addresses on each layer of the network.
#include <algorithm>
#include <map>

#include "ascend/tables/table.h"

namespace dlaunch::ranktable {
namespace {

using Need = Fields::Need;

constexpr long kMostRanks = 65536;
constexpr long kMostLocalIds = 64;
constexpr size_t kMostLevels = 8;
constexpr size_t kMostAddresses = 24;
constexpr size_t kMostPorts = 16;
constexpr size_t kLongestInstanceId = 1024;
constexpr size_t kEidDigits = 32;

bool is_eid(std::string_view text) {
  return text.size() == kEidDigits && text.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

std::string in_small_letters(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

/// The address in a canonical form; empty after a finding.
std::string read_address(Fields& fields, const JsonLocation& spot) {
  const auto type = fields.text(spot, "addr_type", Need::required);
  const auto given = fields.text(spot, "addr", Need::required);
  if (!type || !given) return "";
  const bool eid = *type == "EID";
  if (!eid && *type != "IPV4" && *type != "IPV6") {
    fields.complain(
        spot, "addr_type",
        "invalid address type " + json::described(json::Json::string(*type)) + ": expected EID, IPV4 or IPV6");
    return "";
  }
  const auto address = parse_address(*given);
  if (eid ? is_eid(*given) : address && address->v6 == (*type == "IPV6")) {
    return eid ? in_small_letters(*given) : std::string(address->bytes.begin(), address->bytes.end());
  }
  fields.complain(spot, "addr",
                  "invalid address " + json::described(json::Json::string(*given)) + ": expected " +
                      (eid ? "an EID of 32 hexadecimal digits" : "an address of type " + *type));
  return "";
}

/// The path of each port of a layer: a port belongs to one address.
using Ports = std::map<std::string, std::string>;

bool read_ports(Fields& fields, const JsonLocation& spot, Ports& taken) {
  const json::Json* ports = spot.json->find("ports");
  if (!ports || !ports->is(json::Json::Kind::array)) {
    fields.complain(spot, "ports", ports ? invalid_value(*ports, "a list") : "missing key");
    return false;
  }
  if (ports->items.size() > kMostPorts) fields.complain(spot, "ports", "more than 16 ports");
  bool of_host = false;
  for (size_t i = 0; i < ports->items.size(); ++i) {
    const json::Json& port = ports->items[i];
    const JsonLocation at{&port, spot.path + ".ports[" + std::to_string(i) + "]"};
    if (!port.is(json::Json::Kind::string)) {
      fields.complain(at, "", invalid_value(port, "a string such as \"0/1\""));
      continue;
    }
    of_host = of_host || port.text == "d2h";
    const auto [known, added] = taken.emplace(port.text, at.path);
    if (!added) fields.complain(at, "", "duplicate port " + json::described(port) + ": also " + known->second);
  }
  return of_host;
}

std::vector<DeviceLink> read_level(Fields& fields, const JsonLocation& spot, long layer) {
  std::vector<DeviceLink> links;
  const auto id = fields.text(spot, "net_instance_id", Need::required);
  if (id && (id->empty() || id->size() > kLongestInstanceId))
    fields.complain(spot, "net_instance_id",
                    "invalid length \"" + std::to_string(id->size()) + "\": expected 1 to 1024 characters");
  const auto type = fields.text(spot, "net_type", Need::required);
  if (type && *type != "TOPO_FILE_DESC" && (layer == 0 || *type != "CLOS")) {
    fields.complain(spot, "net_type",
                    "invalid network type " + json::described(json::Json::string(*type)) + ": expected TOPO_FILE_DESC" +
                        (layer == 0 ? " on layer 0" : " or CLOS"));
  }
  fields.text(spot, "net_attr", Need::optional);
  const auto addresses = fields.objects(spot, "rank_addr_list");
  if (addresses.size() > kMostAddresses) fields.complain(spot, "rank_addr_list", "more than 24 addresses");
  Ports ports;
  for (const JsonLocation& at : addresses) {
    const std::string address = read_address(fields, at);
    const bool of_host = read_ports(fields, at, ports);
    fields.text(at, "plane_id", Need::optional);
    if (!address.empty()) links.push_back({at.json, at.path, layer, address, of_host});
  }
  return links;
}

/// The rank's links. Sets `server` to the name of the server.
std::vector<DeviceLink> read_levels(Fields& fields, const JsonLocation& spot, std::string& server) {
  std::vector<DeviceLink> links;
  const auto levels = fields.objects(spot, "level_list");
  if (levels.size() > kMostLevels) fields.complain(spot, "level_list", "more than 8 layers");
  long last = -1;
  for (const JsonLocation& level : levels) {
    const auto layer = fields.number(level, "net_layer", Need::required, 0, 7);
    if (layer && *layer <= last)
      fields.complain(
          level, "net_layer",
          "invalid layer \"" + std::to_string(*layer) + "\": expected a layer above " + std::to_string(last));
    if (layer && last < 0 && *layer != 0)
      fields.complain(level, "net_layer",
                      "invalid layer \"" + std::to_string(*layer) + "\": expected 0 for the first layer");
    if (layer) last = std::max(last, *layer);
    const auto more = read_level(fields, level, layer.value_or(-1));
    links.insert(links.end(), more.begin(), more.end());
    const json::Json* instance = level.json->find("net_instance_id");
    if (layer == 0 && instance && instance->is(json::Json::Kind::string)) server = instance->text;
  }
  return links;
}

}  // namespace

std::vector<TableServer> read_rank_list(Fields& fields, const JsonLocation& root) {
  fields.status(root, Need::optional);
  std::vector<TableServer> servers;
  std::map<std::string, size_t> known;
  for (const JsonLocation& spot : fields.objects(root, "rank_list")) {
    Device device{.json = spot.json, .path = spot.path};
    device.rank_id = fields.number(spot, "rank_id", Need::required, 0, kMostRanks - 1);
    device.local_id = fields.number(spot, "local_id", Need::required, 0, kMostLocalIds);
    device.device_id = fields.number(spot, "device_id", Need::required, 0, kMostLocalIds);
    fields.number(spot, "device_port", Need::optional, 1, 65535);
    device.host_port = fields.number(spot, "host_port", Need::optional, 1, 65535);
    std::string name;
    device.links = read_levels(fields, spot, name);
    const auto [at, added] = known.emplace(name, servers.size());
    if (added) servers.push_back({.path = spot.path, .id = name});
    servers[at->second].devices.push_back(std::move(device));
  }
  const auto count = fields.number(root, "rank_count", Need::required, 1, kMostRanks);
  const json::Json* list = root.json->find("rank_list");
  if (count && list && static_cast<size_t>(*count) != list->items.size()) {
    fields.complain(root, "rank_count",
                    "invalid number \"" + std::to_string(*count) + "\": expected " +
                        std::to_string(list->items.size()) + ", the length of rank_list");
  }
  return servers;
}

}  // namespace dlaunch::ranktable
