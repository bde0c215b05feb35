// Reads the CPU limit of this process's cgroups.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dlaunch::machine {

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

}  // namespace dlaunch::machine
