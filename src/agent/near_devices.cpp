#include "agent/near_devices.h"

#include <set>

#include "allocate/device_nodes.h"
#include "base/text.h"
#include "dlaunch/host.h"

namespace dlaunch::agent {
namespace {

constexpr auto kLastKind = static_cast<std::uint8_t>(plan::DeviceKind::named);

std::string not_bound(std::set<int> devices, const std::string& why) {
  if (devices.erase(-1) > 0 && devices.empty()) return "ranks whose device is not known are not bound";
  return (devices.size() == 1 ? "the rank of device " + fold_ints(devices) + " is"
                              : "the ranks of devices " + fold_ints(devices) + " are") +
         " not bound: " + why;
}

}  // namespace

NearDevices bind_near_devices(const plan::Topology& topology, const wire::Layout& layout, const std::string& root) {
  std::vector<int> devices;
  for (const std::uint32_t device : layout.devices) devices.push_back(static_cast<int>(device));  // kNoDevice is -1
  const auto kind =
      layout.device_kind > kLastKind ? plan::DeviceKind::none : static_cast<plan::DeviceKind>(layout.device_kind);
  const auto nodes = allocate::device_nodes(root, kind, devices);
  NearDevices near{.cpus = plan::bind_near(topology, nodes), .note = {}};
  std::set<int> unknown, closed;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (near.cpus[i].empty()) (nodes[i] ? closed : unknown).insert(devices[i]);
  }
  if (!unknown.empty()) near.note = not_bound(unknown, "on which NUMA node is not known here");
  if (!closed.empty()) {
    near.note += (near.note.empty() ? "" : "; ") + not_bound(closed, "no CPU of its NUMA node may be used here");
  }
  return near;
}

}  // namespace dlaunch::agent
