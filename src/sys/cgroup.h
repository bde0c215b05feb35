// Control groups of version 2 (cgroups(7)), as a way to name processes together and to kill them as one. No controller
// is used, so none has to be enabled.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sys/descendants.h"

namespace dlaunch::sys {

/// The directory where version 2 is mounted, alone or beside version 1.
std::optional<std::string> cgroup_mount();

/// The directory of this process's control group.
std::optional<std::string> own_cgroup();

/// The groups directly below `cgroup`.
std::vector<std::string> cgroups_in(const std::string& cgroup);

/// `cgroup` and all groups below it, each before those below it; their number is bounded.
std::vector<std::string> cgroup_tree(const std::string& cgroup);

/// The living processes in `cgroup` and below it that this PID namespace shows.
std::vector<Process> processes_in(const std::string& cgroup);

/// Sends KILL to all processes in `cgroup` and below it: in one step that no fork escapes (Linux 5.14), or one by one.
void kill_cgroup(const std::string& cgroup);

/// Removes `cgroup` and the groups below it. False while a process is in one of them.
bool remove_cgroup(const std::string& cgroup);

}  // namespace dlaunch::sys
