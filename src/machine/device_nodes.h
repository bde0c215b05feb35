// Finds the NUMA node near each device of this machine, from the kernel's data about the PCI bus.
//
// NVIDIA: /proc/driver/nvidia/gpus has a directory per PCI address, with the minor number of the device. CUDA numbers
// devices in the order of addresses (with CUDA_DEVICE_ORDER=PCI_BUS_ID, or if all devices have the same model). Ascend:
// the driver's dev_id is next to each PCI address. AMD: domain and location_id of the kfd nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlaunch/host.h"

namespace dlaunch::machine {

/// The node of each of `devices` (physical ids); nullopt if unknown, such as on a machine without NUMA (numa_node is
/// -1). For the kind `named`, uses the kind of the existing devices. `root` is "" for this machine.
std::vector<std::optional<int>> device_nodes(const std::string& root, plan::DeviceKind kind,
                                             const std::vector<int>& devices);

}  // namespace dlaunch::machine
