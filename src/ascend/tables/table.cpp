#include "ascend/tables/table.h"

#include <algorithm>

#include "base/try.h"

namespace dlaunch::ranktable {

TableFinding finding_at(const json::Json& object, const std::string& path, std::string_view key, std::string what) {
  const json::Json* member = key.empty() ? nullptr : object.find(key);
  const json::Json& at = member ? *member : object;
  const std::string full = key.empty() ? path : path + "." + std::string(key);
  return {.path = full, .line = at.line, .column = at.column, .what = std::move(what)};
}

std::string invalid_value(const json::Json& value, const std::string& expected) {
  return "invalid value " + json::described(value) + ": expected " + expected;
}

void Fields::complain(const JsonLocation& spot, std::string_view key, std::string what) {
  findings_.push_back(finding_at(*spot.json, spot.path, key, std::move(what)));
}

const json::Json* Fields::member(const JsonLocation& spot, std::string_view key, Need need) {
  const json::Json* found = spot.json->find(key);
  if (!found && need == Need::required) complain(spot, key, "missing key");
  return found;
}

std::optional<std::string> Fields::text(const JsonLocation& spot, std::string_view key, Need need) {
  const json::Json* found = member(spot, key, need);
  if (!found) return std::nullopt;
  if (found->is(json::Json::Kind::string)) return found->text;
  complain(spot, key,
           invalid_value(*found, "a string") +
               (version_ == Version::v2_0
                    ? ""
                    : ": version " + std::string(to_string(version_)) + " requires quotes around every value"));
  return std::nullopt;
}

std::optional<long> Fields::number(const JsonLocation& spot, std::string_view key, Need need, long min, long max) {
  const json::Json* found = member(spot, key, need);
  if (!found) return std::nullopt;
  if (version_ == Version::v2_0 && !found->is(json::Json::Kind::number)) {
    const bool string = found->is(json::Json::Kind::string);
    complain(spot, key, invalid_value(*found, string ? "a number without quotes" : "a number"));
    return std::nullopt;
  }
  if (version_ != Version::v2_0 && !text(spot, key, need)) return std::nullopt;
  const auto value = json::whole_number(found->text);
  if (value && *value >= min && *value <= max) return value;
  const std::string range = std::to_string(min) + " to " + std::to_string(max);
  complain(spot, key, invalid_value(*found, "a whole number from " + range));
  return std::nullopt;
}

std::optional<Address> Fields::address(const JsonLocation& spot, std::string_view key, Need need) {
  const auto given = text(spot, key, need);
  if (!given) return std::nullopt;
  const auto value = parse_address(*given);
  if (!value) {
    complain(spot, key, "invalid address " + json::described(json::Json::string(*given)) + ": expected an IP address");
  } else if (value->loopback() || value->unspecified()) {
    complain(spot, key, "invalid address \"" + *given + "\": other devices cannot connect to this address");
    return std::nullopt;
  }
  return value;
}

std::vector<JsonLocation> Fields::objects(const JsonLocation& spot, std::string_view key) {
  std::vector<JsonLocation> spots;
  const json::Json* list = member(spot, key, Need::required);
  if (!list) return spots;
  if (!list->is(json::Json::Kind::array)) {
    complain(spot, key, invalid_value(*list, "a list"));
    return spots;
  }
  if (list->items.empty()) complain(spot, key, "empty list");
  for (size_t i = 0; i < list->items.size(); ++i) {
    const json::Json& item = list->items[i];
    const JsonLocation at{&item, spot.path + "." + std::string(key) + "[" + std::to_string(i) + "]"};
    if (item.is(json::Json::Kind::object)) {
      spots.push_back(at);
    } else {
      complain(at, "", invalid_value(item, "an object"));
    }
  }
  return spots;
}

void Fields::status(const JsonLocation& spot, Need need) {
  const auto status = text(spot, "status", need);
  if (!status || *status == "completed") return;
  complain(spot, "status",
           "invalid status " + json::described(json::Json::string(*status)) + ": expected \"completed\"" +
               (version_ == Version::v2_0 ? "" : ": otherwise HCCL reads the file again for up to 30 minutes"));
}

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

namespace {

struct Seat {
  long rank = 0;
  long device = 0;
};

Error incomplete() {
  return {.where = "",
          .what = "missing device of a rank in the rank table",
          .why = "",
          .hint = "check the table: dlaunch ranktable check"};
}

Result<std::vector<Seat>> seats_of(const TableServer& server) {
  std::vector<Seat> seats;
  for (const Device& device : server.devices) {
    if (!device.rank_id || !device.device_id) return fail(incomplete());
    seats.push_back({*device.rank_id, *device.device_id});
  }
  if (seats.empty()) return fail(incomplete());
  std::sort(seats.begin(), seats.end(), [](const Seat& a, const Seat& b) { return a.rank < b.rank; });
  return seats;
}

}  // namespace

Result<TableAssignment> assignment_of(const Table& table) {
  TableAssignment assignment;
  for (const TableServer& server : table.servers) {
    const auto seats = TRY(seats_of(server));
    TableHost host{.name = server.host_ip.empty() && server.json ? server.id : server.host_ip, .server_id = server.id};
    for (const Seat seat : seats) {
      host.ranks.push_back(static_cast<int>(seat.rank));
      host.devices.push_back(static_cast<int>(seat.device));
    }
    assignment.hosts.push_back(std::move(host));
  }
  std::sort(assignment.hosts.begin(), assignment.hosts.end(),
            [](const TableHost& a, const TableHost& b) { return a.ranks.front() < b.ranks.front(); });
  assignment.ranks.resize(table.rank_count(), {-1, 0});
  for (size_t i = 0; i < assignment.hosts.size(); ++i) {
    const TableHost& host = assignment.hosts[i];
    for (size_t j = 0; j < host.ranks.size(); ++j) {
      const auto rank = static_cast<size_t>(host.ranks[j]);
      if (rank >= assignment.ranks.size() || assignment.ranks[rank].host >= 0) return fail(incomplete());
      assignment.ranks[rank] = {static_cast<int>(i), host.devices[j]};
    }
  }
  if (assignment.ranks.empty()) return fail(incomplete());
  return assignment;
}

}  // namespace dlaunch::ranktable
