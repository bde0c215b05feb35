// The CPU time that cgroups allow this process, as a number of CPUs.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dlaunch::allocate {

struct CpuQuota {
  int cpus = 1;      ///< rounded up, at least 1
  std::string from;  ///< "cgroup cpu.max" or "cgroup cpu.cfs_quota_us"
};

/// The text of cpu.max: "150000 100000" is 2 CPUs; "max 100000" and what cannot be read limit nothing.
std::optional<int> parse_cpu_max(std::string_view text);

/// The texts of cpu.cfs_quota_us and cpu.cfs_period_us; a quota of -1 limits nothing.
std::optional<int> parse_cfs(std::string_view quota, std::string_view period);

/// Where this process stands, from the text of /proc/self/cgroup.
struct CgroupPaths {
  std::optional<std::string> v2;  ///< "/user.slice/…", "/" for the top
  std::optional<std::string> v1_cpu;
};
CgroupPaths parse_cgroups(std::string_view text);

/// Reads all of the above under `root` ("" for this machine). Version 1 and 2, hybrid, with and without namespaces.
std::optional<CpuQuota> read_cpu_quota(const std::string& root);

}  // namespace dlaunch::allocate
