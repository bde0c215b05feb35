// The devices of this machine: the devices in CUDA_VISIBLE_DEVICES and similar variables, and the NUMA node near each
// device, from the kernel's data about the PCI bus.
//
// NVIDIA: /proc/driver/nvidia/gpus has a directory per PCI address, with the minor number of the device. CUDA numbers
// devices in the order of addresses (with CUDA_DEVICE_ORDER=PCI_BUS_ID, or if all devices have the same model). Ascend:
// the driver's dev_id is next to each PCI address. AMD: domain and location_id of the kfd nodes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/host.h"

namespace dlaunch::machine {

struct VisibleDevices {
  std::vector<int> devices;        ///< in the order of the list
  std::vector<std::string> uuids;  ///< only for lists with UUIDs; the ids are then 0… in their order
};

/// Reads CUDA_VISIBLE_DEVICES and similar variables with the meaning of the drivers. PURE. Narrows `present` by a list
/// such as "2,0" or "GPU-8f6d…,MIG-3a…". The first invalid entry (-1, an absent number, a word, a duplicate) ends the
/// list, as in CUDA; "" leaves no devices. `ranges`: "0-3" means four devices, as Ascend allows.
VisibleDevices narrow(const std::vector<int>& present, std::string_view list, bool ranges);

/// The node of each of `devices` (physical ids); nullopt if unknown, such as on a machine without NUMA (numa_node is
/// -1). For the kind `named`, uses the kind of the existing devices. `root` is "" for this machine.
std::vector<std::optional<int>> device_nodes(const std::string& root, plan::DeviceKind kind,
                                             const std::vector<int>& devices);

}  // namespace dlaunch::machine
