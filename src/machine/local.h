// Reads the CPUs and devices of this machine from the kernel, and makes an allocation: name, usable CPUs, and devices,
// except devices that the user hides. Must be fast: every start of dlaunch waits for this.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/host.h"

namespace dlaunch::machine {

// The devices of this machine: the devices in CUDA_VISIBLE_DEVICES and similar variables, and the NUMA node near each
// device, from the kernel's data about the PCI bus.
//
// NVIDIA: /proc/driver/nvidia/gpus has a directory per PCI address, with the minor number of the device. CUDA numbers
// devices in the order of addresses (with CUDA_DEVICE_ORDER=PCI_BUS_ID, or if all devices have the same model). Ascend:
// the driver's dev_id is next to each PCI address. AMD: domain and location_id of the kfd nodes.

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

// Reads the CPU limit of this process's cgroups.

struct CpuQuota {
  int cpus = 1;      ///< rounded up, at least 1
  std::string from;  ///< "cgroup cpu.max" or "cgroup cpu.cfs_quota_us"
};

/// Parses cpu.max: "150000 100000" means 2 CPUs. nullopt (no limit) for "max 100000" and for invalid text.
std::optional<int> parse_cpu_max(std::string_view text);

/// Parses cpu.cfs_quota_us and cpu.cfs_period_us; a quota of -1 means no limit.
std::optional<int> parse_cfs(std::string_view quota, std::string_view period);

/// Parses the cgroups of this process from the text of /proc/self/cgroup.
struct CgroupPaths {
  std::optional<std::string> v2;  ///< "/user.slice/…", "/" for the root
  std::optional<std::string> v1_cpu;
};
CgroupPaths parse_cgroups(std::string_view text);

/// Reads the limits under `root` ("" for this machine). Supports versions 1 and 2, also at the same time, with and
/// without namespaces.
std::optional<CpuQuota> read_cpu_quota(const std::string& root);

struct MachineFacts {
  std::string host_name;
  int affinity_cpus = 1;                   ///< CPUs in this process's affinity mask
  std::optional<int> affinity_cores = {};  ///< number of their cores, if requested
  std::optional<CpuQuota> quota;           ///< the smallest limit of this process's cgroup and its parents
  std::vector<int> nvidia;                 ///< CUDA ordinals 0…, one per device, independent of the N in /dev/nvidiaN
  std::vector<int> ascend;                 ///< the N of /dev/davinciN, ascending
  std::vector<int> amd;                    ///< HIP ordinals 0…
};

/// `root` is "" for this machine, or a test's directory with dev/, proc/ and sys/.
Result<MachineFacts> read_machine(const std::string& root);

/// The number of cores of the CPUs in this process's affinity mask; a CPU with an unknown core counts as one. Reads one
/// file per CPU, so callers use this only on request.
int count_cores(const std::string& root);

/// The default for slots: CPUs (hardware threads), or their cores.
enum class Count { cpus, cores };

/// Pure. Reads *_VISIBLE_DEVICES of `environment` (NAME=VALUE entries). `fake_devices` (--fake-devices) replaces all
/// real devices; only a list of their numbers hides some of them; with 0 the machine has no devices.
plan::Allocation allocation_from(const MachineFacts& facts, const std::vector<std::string>& environment,
                                 std::optional<int> fake_devices);

/// Reads this machine's facts and makes its allocation.
Result<plan::Allocation> local_allocation(const std::vector<std::string>& environment, std::optional<int> fake_devices,
                                          Count count = Count::cpus);

}  // namespace dlaunch::machine
