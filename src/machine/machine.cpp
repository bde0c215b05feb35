#include "machine/machine.h"

#include <sched.h>
#include <sys/utsname.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <set>

#include "base/text.h"
#include "base/try.h"
#include "sys/files.h"
#include "sys/inherited.h"

namespace dlaunch::machine {
namespace {

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
