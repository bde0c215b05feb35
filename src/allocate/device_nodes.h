// Which NUMA node each device of this machine is near, by the kernel's knowledge of the PCI bus.
//
// NVIDIA: /proc/driver/nvidia/gpus has a directory for each PCI address, with the device's minor number; CUDA counts
// the devices in the order of addresses (with CUDA_DEVICE_ORDER=PCI_BUS_ID, or devices of one model). Ascend: the
// driver's dev_id is beside each PCI address. AMD: domain and location_id of the kfd's nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlaunch/host.h"

namespace dlaunch::allocate {

/// The node of each of `devices`, which are physical ids; none where it is unknown, as on a machine without NUMA
/// (numa_node is -1). For the kind `named`, the devices are of the kind that is there. `root` is "" for this machine.
std::vector<std::optional<int>> device_nodes(const std::string& root, plan::DeviceKind kind,
                                             const std::vector<int>& devices);

}  // namespace dlaunch::allocate
