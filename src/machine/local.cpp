#include "machine/local.h"

#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>

#include "base/environment.h"
#include "base/index_cast.h"
#include "base/text.h"
#include "base/try.h"
#include "sys/files.h"
#include "sys/inherited.h"

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

Addresses nvidia_addresses(const std::string& root) {
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

Addresses ascend_addresses(const std::string& root) {
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
Addresses amd_addresses(const std::string& root) {
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
      return nvidia_addresses(root);
    case DeviceKind::ascend:
      return ascend_addresses(root);
    case DeviceKind::amd:
      return amd_addresses(root);
    case DeviceKind::named:
      for (const auto& find : {nvidia_addresses, ascend_addresses, amd_addresses}) {
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

namespace {

std::optional<int> in_cpus(std::string_view quota, std::string_view period) {
  const auto used = parse_int(trim(quota), 1, LONG_MAX / 2);
  const auto of = parse_int(trim(period), 1, LONG_MAX / 2);
  if (!used || !of) return std::nullopt;
  return static_cast<int>(std::min((*used - 1) / *of + 1, static_cast<long>(INT_MAX)));
}

/// The path of a cgroup and all parent paths, ending with "". In a container without a cgroup namespace, the path
/// belongs to the host and does not exist here; the mounted root is then the container's own cgroup.
std::vector<std::string> upwards(std::string path) {
  std::vector<std::string> paths;
  while (!path.empty() && path != "/") {
    paths.push_back(path);
    path.resize(path.find_last_of('/'));
  }
  paths.emplace_back();
  return paths;
}

void keep_smaller(std::optional<CpuQuota>& smallest, std::optional<int> cpus, const char* from) {
  if (cpus && (!smallest || *cpus < smallest->cpus)) smallest = CpuQuota{.cpus = *cpus, .from = from};
}

}  // namespace

std::optional<int> parse_cpu_max(std::string_view text) {
  text = trim(text);
  const size_t blank = text.find(' ');
  if (blank == std::string_view::npos) return std::nullopt;
  return in_cpus(text.substr(0, blank), text.substr(blank + 1));
}

std::optional<int> parse_cfs(std::string_view quota, std::string_view period) { return in_cpus(quota, period); }

CgroupPaths parse_cgroups(std::string_view text) {
  CgroupPaths paths;
  for (const std::string& line : split(text, '\n')) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos || line.size() == second + 1 || line[second + 1] != '/') continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (line.starts_with("0::")) paths.v2 = path;
    if (std::ranges::count(split(controllers, ','), "cpu") > 0) paths.v1_cpu = path;
  }
  return paths;
}

std::optional<CpuQuota> read_cpu_quota(const std::string& root) {
  const CgroupPaths paths = parse_cgroups(sys::read_file(root + "/proc/self/cgroup").value_or(""));
  const std::string mounts = root + "/sys/fs/cgroup";
  std::optional<CpuQuota> smallest;
  for (const std::string& path : paths.v1_cpu ? upwards(*paths.v1_cpu) : std::vector<std::string>{}) {
    const std::string directory = mounts + "/cpu" + path;  // "cpu" is a link if cpu and cpuacct share a mount
    const auto quota = sys::read_file(directory + "/cpu.cfs_quota_us");
    if (!quota) continue;
    const auto period = sys::read_file(directory + "/cpu.cfs_period_us");
    keep_smaller(smallest, parse_cfs(*quota, period.value_or("")), "cgroup cpu.cfs_quota_us");
  }
  if (paths.v1_cpu) return smallest;  // each controller belongs to a single hierarchy
  for (const std::string& path : paths.v2 ? upwards(*paths.v2) : std::vector<std::string>{}) {
    keep_smaller(smallest, parse_cpu_max(sys::read_file(mounts + path + "/cpu.max").value_or("")), "cgroup cpu.max");
  }
  return smallest;
}

namespace {

using plan::DeviceKind;

struct Devices {
  DeviceKind kind = DeviceKind::none;
  std::vector<int> ids;
  std::vector<std::string> uuids;
  bool narrowed = false;
  std::string from;
};

void narrow_by(Devices& devices, const std::vector<std::string>& environment, std::string_view name) {
  const auto list = variable(environment, name);
  if (!list || devices.ids.empty()) return;
  VisibleDevices visible = narrow(devices.ids, *list, devices.kind == DeviceKind::ascend);
  devices.ids = std::move(visible.devices);
  const bool by_uuid = !visible.uuids.empty();
  if (by_uuid) devices.uuids = std::move(visible.uuids);
  devices.narrowed = true;
  devices.from = std::string(name) + (by_uuid ? " with UUIDs; the numbers are positions in the list" : "");
}

Devices nvidia(const MachineFacts& facts, const std::vector<std::string>& environment) {
  Devices devices{.kind = DeviceKind::nvidia, .ids = facts.nvidia, .uuids = {}, .from = "/dev/nvidia*"};
  narrow_by(devices, environment, "CUDA_VISIBLE_DEVICES");
  return devices;
}

Devices ascend(const MachineFacts& facts, const std::vector<std::string>& environment) {
  Devices devices{.kind = DeviceKind::ascend, .ids = facts.ascend, .uuids = {}, .from = "/dev/davinci*"};
  narrow_by(devices, environment, "ASCEND_RT_VISIBLE_DEVICES");
  return devices;
}

/// ROCr hides devices first, and HIP numbers the remaining devices from 0. The result has the ids of the machine.
Devices amd(const MachineFacts& facts, const std::vector<std::string>& environment) {
  Devices devices{.kind = DeviceKind::amd, .ids = facts.amd, .uuids = {}, .from = "/sys/class/kfd"};
  narrow_by(devices, environment, "ROCR_VISIBLE_DEVICES");
  Devices left = devices;
  for (size_t i = 0; i < left.ids.size(); ++i) left.ids[i] = static_cast<int>(i);
  const bool hip = variable(environment, "HIP_VISIBLE_DEVICES").has_value();
  // HIP reads CUDA_VISIBLE_DEVICES, too
  narrow_by(left, environment, hip ? "HIP_VISIBLE_DEVICES" : "CUDA_VISIBLE_DEVICES");
  if (left.ids.size() > devices.ids.size()) left.ids.resize(devices.ids.size());  // more UUIDs than devices
  for (int& id : left.ids) id = at_index(devices.ids, id);
  return left;
}

/// Of the lists, only those with numbers of these devices apply: a UUID or an unknown number means real devices.
Devices fake(int count, const std::vector<std::string>& environment) {
  Devices devices{.kind = DeviceKind::fake, .ids = {}, .uuids = {}, .from = "--fake-devices"};
  for (int id = 0; id < count; ++id) devices.ids.push_back(id);
  for (const char* name : {"CUDA_VISIBLE_DEVICES", "ASCEND_RT_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"}) {
    Devices left = devices;
    narrow_by(left, environment, name);
    if (left.narrowed && left.uuids.empty() && !left.ids.empty()) return left;
  }
  return devices;
}

Devices choose(const MachineFacts& facts, const std::vector<std::string>& environment,
               std::optional<int> fake_devices) {
  if (fake_devices) return fake(*fake_devices, environment);
  for (const auto& find : {nvidia, ascend, amd}) {
    Devices devices = find(facts, environment);
    if (!devices.ids.empty()) return devices;
  }
  return {};
}

std::optional<int> number_after(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  const auto number = parse_int(name.substr(prefix.size()), 0, INT_MAX);
  return number ? std::optional<int>(static_cast<int>(*number)) : std::nullopt;
}

Result<int> affinity_cpus() {
  if (const auto cpus = sys::affinity_of(0)) return std::max(static_cast<int>(cpus->size()), 1);
  return fail(
      {.where = {}, .what = "cannot read this process's CPU affinity", .why = std::strerror(errno), .hint = {}});
}

void number_from_zero(std::vector<int>& devices, size_t count) {
  devices.clear();
  for (size_t i = 0; i < count; ++i) devices.push_back(static_cast<int>(i));
}

/// Counts the GPUs of the kfd driver: topology nodes with a readable gpu_id other than 0 (0 means CPU). A container
/// cannot read GPUs outside its devices. If sysfs is hidden, counts the render nodes of this machine.
size_t count_amd(const std::string& root) {
  const std::string nodes = root + "/sys/class/kfd/kfd/topology/nodes";
  const auto names = sys::entries_of(nodes);
  if (names.empty()) {
    const auto is_node = [](const std::string& name) { return name.starts_with("renderD"); };
    return static_cast<size_t>(std::ranges::count_if(sys::entries_of(root + "/dev/dri"), is_node));
  }
  return static_cast<size_t>(std::ranges::count_if(names, [&](const std::string& name) {
    const auto id = sys::read_file(nodes + "/" + name + "/gpu_id");
    return id && parse_int(trim(*id), 1, LONG_MAX);
  }));
}

void read_devices(const std::string& root, MachineFacts& facts) {
  bool kfd = false;
  size_t nvidia = 0;
  sys::for_each_entry(root + "/dev", [&](const dirent& entry) {
    const std::string_view name = entry.d_name;
    if (number_after(name, "nvidia")) ++nvidia;
    if (const auto number = number_after(name, "davinci")) facts.ascend.push_back(*number);
    kfd = kfd || name == "kfd";
    return true;
  });
  std::ranges::sort(facts.ascend);
  number_from_zero(facts.nvidia, nvidia);
  if (kfd) number_from_zero(facts.amd, count_amd(root));
}

}  // namespace

plan::Allocation allocation_from(const MachineFacts& facts, const std::vector<std::string>& environment,
                                 std::optional<int> fake_devices) {
  plan::Host host;
  host.name = facts.host_name;
  host.local = true;
  host.slots = facts.affinity_cores.value_or(facts.affinity_cpus);
  host.slots_from = facts.affinity_cores ? "cores of the affinity mask" : "affinity mask";
  if (facts.quota && facts.quota->cpus < host.slots) {
    host.slots = facts.quota->cpus;
    host.slots_from = facts.quota->from;
  }
  if (Devices devices = choose(facts, environment, fake_devices); !devices.ids.empty()) {
    host.device_kind = devices.kind;
    host.devices = std::move(devices.ids);
    if (devices.narrowed) host.seen = host.devices;
    host.uuids = std::move(devices.uuids);
    host.devices_from = std::move(devices.from);
  }
  plan::Allocation allocation;
  allocation.hosts.push_back(std::move(host));
  return allocation;
}

Result<plan::Allocation> local_allocation(const std::vector<std::string>& environment, std::optional<int> fake_devices,
                                          Count count) {
  auto facts = TRY(read_machine(""));
  if (count == Count::cores) facts.affinity_cores = count_cores("");
  return allocation_from(facts, environment, fake_devices);
}

int count_cores(const std::string& root) {
  std::set<std::string> cores;
  for (const std::uint32_t cpu : sys::affinity_of(0).value_or(std::vector<std::uint32_t>{})) {
    const std::string name = std::to_string(cpu);
    const auto siblings =
        sys::read_file(root + "/sys/devices/system/cpu/cpu" + name + "/topology/thread_siblings_list");
    cores.insert(siblings ? std::string(trim(*siblings)) : "cpu " + name);
  }
  return std::max(static_cast<int>(cores.size()), 1);
}

Result<MachineFacts> read_machine(const std::string& root) {
  MachineFacts facts;
  utsname names{};
  if (uname(&names) == 0) facts.host_name = names.nodename;
  if (facts.host_name.empty()) facts.host_name = "localhost";
  const auto cpus = TRY(affinity_cpus());
  facts.affinity_cpus = cpus;
  facts.quota = read_cpu_quota(root);
  read_devices(root, facts);
  return facts;
}

}  // namespace dlaunch::machine
