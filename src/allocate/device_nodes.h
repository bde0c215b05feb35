// Which NUMA node each device of this machine is near: what the kernel says of its place on the PCI bus.
//
// NVIDIA: /proc/driver/nvidia/gpus has a directory for each PCI address, with the device's minor; CUDA counts those
// that are there in the order of addresses (CUDA_DEVICE_ORDER=PCI_BUS_ID, and devices that are alike). Ascend: the
// driver's dev_id beside each PCI address. AMD: domain and location_id of the kfd's nodes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlaunch/host.h"

namespace dlaunch::allocate {

/// Of each of `devices`, physical ids; none where it is not known, as on a machine without NUMA (numa_node is -1). A
/// kind that the user named is the one that is there. `root` is "" for this machine.
std::vector<std::optional<int>> device_nodes(const std::string& root, plan::DeviceKind kind,
                                             const std::vector<int>& devices);

}  // namespace dlaunch::allocate
