#include "report/net_check.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/printable.h"
#include "base/text.h"
#include "dlaunch/error.h"
#include "plan/table.h"
#include "report/lines.h"
#include "report/lost_hosts.h"

namespace dlaunch::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFault = 1;

bool is_well(const CheckedDevice& device) { return device.status == kNetSuccess; }

bool is_well(const NetHost& host) {
  return host.trouble.empty() &&
         std::ranges::all_of(host.devices, [](const CheckedDevice& device) { return is_well(device); });
}

std::string cell(const NetHost& host, long number) {
  const auto device = std::ranges::find(host.devices, number, &CheckedDevice::device);
  if (device == host.devices.end()) return "-";
  return device->status.empty() ? "unknown" : escaped(device->status);
}

std::set<int> device_numbers(const NetCheck& check) {
  std::set<int> numbers;
  for (const NetHost& host : check.hosts) {
    for (const CheckedDevice& device : host.devices) numbers.insert(static_cast<int>(device.device));
  }
  return numbers;
}

/// Describes the device's failure. Devices with the same text share a line.
std::string wrong(const NetHost& host, const CheckedDevice& device) {
  if (!device.trouble.empty()) return device.trouble;
  if (host.peer.empty()) return "net health: " + device.status;
  return "cannot connect to the devices of " + host.peer + ": " + device.status;
}

Json device_json(const NetHost& host, const CheckedDevice& device) {
  Json json = {{"host", host.name}, {"device", device.device}, {"address", device.address}};
  if (!host.peer.empty()) {
    json["peer_host"] = host.peer;
    json["peer_device"] = device.peer;
    json["peer_address"] = device.peer_address;
  }
  json["status"] = device.status.empty() ? Json(nullptr) : Json(device.status);
  if (!device.trouble.empty()) json["why_not"] = device.trouble;
  return json;
}

}  // namespace

int exit_code(const NetCheck& check) {
  if (!check.lost.empty()) return kExitHostLost;
  return std::ranges::all_of(check.hosts, [](const NetHost& host) { return is_well(host); }) ? 0 : kFault;
}

std::string to_table(const NetCheck& check) {
  const std::set<int> numbers = device_numbers(check);
  std::vector<std::vector<std::string>> rows = {{"host", "peer"}};
  for (const int number : numbers) rows.front().push_back("device " + std::to_string(number));
  for (const NetHost& host : check.hosts) {
    auto& row = rows.emplace_back(std::vector{escaped(host.name), host.peer.empty() ? "-" : escaped(host.peer)});
    for (const int number : numbers) row.push_back(cell(host, number));
  }
  return plan::aligned(rows, "");
}

std::string findings_text(const NetCheck& check) {
  Lines lines;
  bool fault = false;
  for (const NetHost& host : check.hosts) {
    if (!host.trouble.empty()) lines.add(host.name + ": " + host.trouble);
    std::map<std::string, std::set<int>> devices;
    for (const CheckedDevice& device : host.devices) {
      if (!is_well(device)) devices[wrong(host, device)].insert(static_cast<int>(device.device));
      fault = fault || (device.trouble.empty() && !is_well(device));
    }
    for (const auto& [what, numbers] : devices) {
      lines.add(host.name + (numbers.size() == 1 ? ": device " : ": devices ") + fold_ints(numbers) + ": " + what);
    }
  }
  if (fault)
    lines.add_hint("check the devices' links, addresses and switch: hccn_tool -i N -link -g, -ip -g, -gateway -g");
  if (!check.lost.empty()) lines.add_complete(lost_hosts_text(check.lost, false, check.elapsed));
  return lines.take();
}

std::string to_json(const NetCheck& check) {
  Json devices = Json::array(), hosts = Json::array(), lost = Json::array();
  for (const NetHost& host : check.hosts) {
    for (const CheckedDevice& device : host.devices) devices.push_back(device_json(host, device));
    if (!host.trouble.empty()) hosts.push_back({{"host", host.name}, {"why_not", host.trouble}});
  }
  for (const job::LostHost& host : check.lost)
    lost.push_back({{"host", host.name}, {"why", host.why}, {"hint", host.hint}});
  const Json whole = {{"ok", exit_code(check) == 0},
                      {"devices", std::move(devices)},
                      {"not_asked", std::move(hosts)},
                      {"not_reached", std::move(lost)}};
  return printable_json(whole.dump(2, ' ', false, Json::error_handler_t::replace)) + '\n';
}

}  // namespace dlaunch::report
