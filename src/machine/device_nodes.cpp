#include "machine/device_nodes.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdio>
#include <map>
#include <set>

#include "base/text.h"
#include "sys/files.h"

namespace dlaunch::machine {
namespace {

using plan::DeviceKind;
using sys::entries_of;

/// PCI addresses ("0000:3b:00.0") by device.
using Addresses = std::map<int, std::string>;

std::optional<long> number_in(const std::string& path, long min) {
  const auto text = sys::read_file(path);
  return text ? parse_int(trim(*text), min, LONG_MAX) : std::nullopt;
}

/// The number after `key` and blanks on its line.
std::optional<long> value_of(const std::string& text, std::string_view key) {
  for (const std::string& line : split(text, '\n')) {
    if (line.starts_with(key)) return parse_int(trim(std::string_view(line).substr(key.size())), 0, LONG_MAX);
  }
  return std::nullopt;
}

Addresses nvidia(const std::string& root) {
  const std::string gpus = root + "/proc/driver/nvidia/gpus/";
  const auto there = entries_of(root + "/dev");  // a container may have only some of them
  Addresses found;
  for (const std::string& address : entries_of(gpus)) {
    const auto text = sys::read_file(gpus + address + "/information");
    const auto minor = text ? value_of(*text, "Device Minor:") : std::nullopt;
    if (!minor) return {};
    if (std::ranges::find(there, "nvidia" + std::to_string(*minor)) == there.end()) continue;
    found.emplace(static_cast<int>(found.size()), address);
  }
  return found;
}

Addresses ascend(const std::string& root) {
  const std::string driver = root + "/sys/bus/pci/drivers/devdrv_device_driver/";
  Addresses found;
  for (const std::string& address : entries_of(driver)) {
    const auto id = number_in(driver + address + "/dev_id", 0);
    if (id) found.emplace(static_cast<int>(*id), address);
  }
  return found;
}

std::string pci_address(long domain, long location) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%04lx:%02lx:%02lx.%lx", domain, (location >> 8) & 0xff,
                (location >> 3) & 0x1f, location & 0x7);
  return text.data();
}

/// Nodes in the order of their numbers, as in HIP; CPUs have the gpu_id 0.
Addresses amd(const std::string& root) {
  const std::string nodes = root + "/sys/class/kfd/kfd/topology/nodes/";
  std::map<long, std::string> by_number;
  for (const std::string& node : entries_of(nodes)) {
    const auto number = parse_int(node, 0, INT_MAX);
    if (!number || !number_in(nodes + node + "/gpu_id", 1)) continue;
    const auto text = sys::read_file(nodes + node + "/properties");
    const auto location = text ? value_of(*text, "location_id ") : std::nullopt;
    if (!location) return {};
    by_number[*number] = pci_address(value_of(*text, "domain ").value_or(0), *location);
  }
  Addresses found;
  for (const auto& [number, address] : by_number) found.emplace(static_cast<int>(found.size()), address);
  return found;
}

Addresses addresses(const std::string& root, DeviceKind kind) {
  switch (kind) {
    case DeviceKind::nvidia:
      return nvidia(root);
    case DeviceKind::ascend:
      return ascend(root);
    case DeviceKind::amd:
      return amd(root);
    case DeviceKind::named:
      for (const auto& find : {nvidia, ascend, amd}) {
        if (Addresses found = find(root); !found.empty()) return found;
      }
      return {};
    case DeviceKind::none:
    case DeviceKind::fake:
      return {};
  }
  return {};
}

bool is_uuid(std::string_view entry) { return entry.starts_with("GPU-") || entry.starts_with("MIG-"); }

VisibleDevices by_uuid(const std::vector<std::string>& entries) {
  VisibleDevices visible;
  std::set<std::string_view> seen;
  for (const std::string& entry : entries) {
    if (!is_uuid(trim(entry)) || !seen.insert(trim(entry)).second) break;
    visible.devices.push_back(static_cast<int>(visible.devices.size()));
    visible.uuids.emplace_back(trim(entry));
  }
  return visible;
}

/// The numbers of one entry; empty for a malformed entry.
std::vector<int> numbers(std::string_view entry, bool ranges) {
  const size_t dash = ranges ? entry.find('-', 1) : std::string_view::npos;
  const auto first = parse_int(trim(entry.substr(0, dash)), 0, INT_MAX);
  const auto last = dash == std::string_view::npos ? first : parse_int(trim(entry.substr(dash + 1)), 0, INT_MAX);
  constexpr long kMostDevices = 4096;
  if (!first || !last || *last < *first || *last - *first > kMostDevices) return {};
  std::vector<int> list;
  for (long n = *first; n <= *last; ++n) list.push_back(static_cast<int>(n));
  return list;
}

}  // namespace

std::vector<std::optional<int>> device_nodes(const std::string& root, DeviceKind kind,
                                             const std::vector<int>& devices) {
  const Addresses known = addresses(root, kind);
  std::vector<std::optional<int>> nodes;
  for (const int device : devices) {
    auto& node = nodes.emplace_back();
    const auto address = known.find(device);
    if (address == known.end()) continue;
    const auto number = number_in(root + "/sys/bus/pci/devices/" + address->second + "/numa_node", 0);
    if (number && *number <= INT_MAX) node = static_cast<int>(*number);
  }
  return nodes;
}

VisibleDevices narrow(const std::vector<int>& present, std::string_view list, bool ranges) {
  const std::vector<std::string> entries = split(list, ',');
  if (is_uuid(trim(entries.front()))) return by_uuid(entries);
  VisibleDevices visible;
  for (const std::string& entry : entries) {
    const std::vector<int> named = numbers(trim(entry), ranges);
    if (named.empty()) return visible;
    for (const int number : named) {
      if (std::ranges::find(present, number) == present.end()) return visible;
      if (std::ranges::find(visible.devices, number) != visible.devices.end()) return visible;
      visible.devices.push_back(number);
    }
  }
  return visible;
}

}  // namespace dlaunch::machine
