// Control groups version 2 (cgroups(7)): a group names many processes, and kills all of them at once. No controller is
// used or enabled.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sys/descendants.h"

namespace dlaunch::sys {

/// The mount point of version 2, also next to version 1.
std::optional<std::string> cgroup_mount();

/// The directory of the control group of this process.
std::optional<std::string> own_cgroup();

/// The direct child groups of `cgroup`.
std::vector<std::string> cgroups_in(const std::string& cgroup);

/// `cgroup` and all groups below it, parents first; their number is limited.
std::vector<std::string> cgroup_tree(const std::string& cgroup);

/// The living processes in `cgroup` and below it, as far as this PID namespace shows them.
std::vector<Process> processes_in(const std::string& cgroup);

/// Sends KILL to all processes in `cgroup` and below: since Linux 5.14 in a single step, which no fork escapes.
void kill_cgroup(const std::string& cgroup);

/// Removes `cgroup` and the groups below it. Returns false while a process is in one of them.
bool remove_cgroup(const std::string& cgroup);

}  // namespace dlaunch::sys
