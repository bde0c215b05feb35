// What there is to run on: hosts in order, their slots and devices, and where each number came from.
// A value. The allocate room makes it; the planner reads it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::plan {

enum class DeviceKind { none, nvidia, ascend, amd, fake };

std::string_view to_string(DeviceKind kind);

struct Host {
  std::string name;  ///< exactly as the user or the machine gives it; never shortened
  bool local = false;
  int slots = 0;          ///< CPUs that may be used here, or what the user said
  std::string slots_from; ///< "affinity mask", "cgroup cpu.max", "hostfile:3", …
  DeviceKind device_kind = DeviceKind::none;
  std::vector<int> devices;  ///< physical ids in the order of use; what the user hid is not in it
  std::string devices_from;  ///< "/dev/nvidia*", "CUDA_VISIBLE_DEVICES", "--fake-devices", …; empty without devices
};

struct Allocation {
  std::vector<Host> hosts;
  bool slots_are_limits = false;  ///< the user named the slots (hostfile, -H): more ranks need --oversubscribe
};

}  // namespace dlaunch::plan
