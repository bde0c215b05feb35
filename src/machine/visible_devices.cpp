#include "machine/visible_devices.h"

#include <algorithm>
#include <climits>
#include <set>
#include <string>

#include "base/text.h"

namespace dlaunch::machine {
namespace {

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
