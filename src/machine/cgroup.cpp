#include "machine/cgroup.h"

#include <algorithm>
#include <climits>
#include <vector>

#include "base/text.h"
#include "sys/files.h"

namespace dlaunch::machine {
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

}  // namespace dlaunch::machine
