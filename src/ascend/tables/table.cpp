#include <algorithm>

#include "ascend/tables/fields.h"

namespace dlaunch::ranktable {
namespace {

using Need = Fields::Need;

constexpr long kMostRanks = 65536;
constexpr long kMostDeviceIds = 65536;  // rules.h has the smaller limit of each product
constexpr long kMostSuperDeviceIds = 4294967295;
constexpr size_t kLongestServerId = 64;

bool is_name(std::string_view id) {
  return std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._-:").find(c) != std::string_view::npos;
  });
}

/// Whether the text looks like an address with an error, such as "10.1.2.300".
bool is_broken_address(std::string_view id) {
  return id.find_first_not_of("0123456789.") == std::string_view::npos && id.find('.') != std::string_view::npos &&
         !parse_address(id);
}

std::string read_server_id(Fields& fields, const JsonLocation& spot) {
  const auto id = fields.text(spot, "server_id", Need::required);
  if (!id) return "";
  const std::string given = json::described(json::Json::string(*id));
  if (id->empty() || id->size() > kLongestServerId) {
    fields.complain(spot, "server_id", "invalid value " + given + ": expected 1 to 64 characters");
  } else if (!is_name(*id)) {
    fields.complain(spot, "server_id", "invalid value " + given + ": expected an address or a host name");
  } else if (is_broken_address(*id)) {
    fields.complain(spot, "server_id", "invalid address " + given + ": expected an IP address");
  }
  return *id;
}

Device read_device(Fields& fields, const JsonLocation& spot) {
  Device device{.json = spot.json, .path = spot.path};
  device.device_id = fields.number(spot, "device_id", Need::required, 0, kMostDeviceIds);
  device.rank_id = fields.number(spot, "rank_id", Need::required, 0, kMostRanks);
  device.device_ip = fields.address(spot, "device_ip", Need::optional);
  fields.number(spot, "device_port", Need::optional, 1, 65535);
  fields.address(spot, "backup_device_ip", Need::optional);
  fields.number(spot, "backup_device_port", Need::optional, 1, 65535);
  device.host_port = fields.number(spot, "host_port", Need::optional, 1, 65535);
  device.super_device_id = fields.number(spot, "super_device_id", Need::optional, 0, kMostSuperDeviceIds);
  return device;
}

TableServer read_server(Fields& fields, const JsonLocation& spot) {
  TableServer server{.json = spot.json, .path = spot.path};
  server.id = read_server_id(fields, spot);
  if (spot.json->find("host_ip")) {
    fields.address(spot, "host_ip", Need::optional);
    server.host_ip = spot.json->find("host_ip")->text;
  }
  fields.text(spot, "host_nic_ip", Need::optional);
  for (const JsonLocation& device : fields.objects(spot, "device"))
    server.devices.push_back(read_device(fields, device));
  return server;
}

SuperPod read_super_pod(Fields& fields, const JsonLocation& spot) {
  SuperPod pod{.json = spot.json, .path = spot.path};
  const auto id = fields.text(spot, "super_pod_id", Need::required);
  if (id && id->empty()) fields.complain(spot, "super_pod_id", "invalid value \"\": expected at least 1 character");
  pod.id = id.value_or("");
  for (const JsonLocation& server : fields.objects(spot, "server_list"))
    pod.servers.push_back(fields.text(server, "server_id", Need::required).value_or(""));
  return pod;
}

void read_server_list(Fields& fields, const JsonLocation& root, Table& table) {
  fields.status(root, Need::required);
  for (const JsonLocation& server : fields.objects(root, "server_list"))
    table.servers.push_back(read_server(fields, server));
  const auto count = fields.number(root, "server_count", Need::optional, 0, kMostRanks);
  const json::Json* list = root.json->find("server_list");
  if (count && list && static_cast<size_t>(*count) != list->items.size()) {
    fields.complain(root, "server_count",
                    "invalid number \"" + std::to_string(*count) + "\": expected " +
                        std::to_string(list->items.size()) + ", the length of server_list");
  }
  if (!root.json->find("super_pod_list")) return;
  if (table.version == Version::v1_0) {
    fields.complain(root, "super_pod_list", "requires version 1.2");
    return;
  }
  table.super_pods.emplace();
  for (const JsonLocation& pod : fields.objects(root, "super_pod_list"))
    table.super_pods->push_back(read_super_pod(fields, pod));
}

std::optional<Version> read_version(const JsonLocation& root, std::vector<TableFinding>& findings) {
  const auto complain = [&](std::string what) {
    findings.push_back(finding_at(*root.json, root.path, "version", std::move(what)));
  };
  const json::Json* given = root.json->find("version");
  if (!given) {
    complain(root.json->find("group_list") ? "missing key: dlaunch does not support the old format with group_list"
                                           : "missing key");
    return std::nullopt;
  }
  const auto version = parse_version(given->text);
  if (!version) {
    complain("unknown version " + json::described(*given) + ": expected \"1.0\", \"1.2\" or \"2.0\"");
  } else if (!given->is(json::Json::Kind::string)) {
    complain(invalid_value(*given, "a string"));
  }
  return version;
}

}  // namespace

std::string_view to_string(Version version) {
  return version == Version::v1_0 ? "1.0" : version == Version::v1_2 ? "1.2" : "2.0";
}

std::optional<Version> parse_version(std::string_view text) {
  for (const Version version : {Version::v1_0, Version::v1_2, Version::v2_0}) {
    if (text == to_string(version)) return version;
  }
  return std::nullopt;
}

bool any_broken(const std::vector<TableFinding>& findings) {
  return std::any_of(findings.begin(), findings.end(), [](const TableFinding& f) { return !f.note; });
}

size_t Table::rank_count() const {
  size_t count = 0;
  for (const TableServer& server : servers) count += server.devices.size();
  return count;
}

Reading read_table(const json::Json& json) {
  Reading reading;
  const JsonLocation root{&json, "$"};
  if (!json.is(json::Json::Kind::object)) {
    reading.findings.push_back(finding_at(json, "$", "", invalid_value(json, "an object")));
    return reading;
  }
  const auto version = read_version(root, reading.findings);
  if (!version) return reading;
  Fields fields(*version, reading.findings);
  Table& table = reading.table.emplace();
  table.version = *version;
  table.json = &json;
  if (*version == Version::v2_0) {
    table.servers = read_rank_list(fields, root);
  } else {
    read_server_list(fields, root, table);
  }
  return reading;
}

}  // namespace dlaunch::ranktable
