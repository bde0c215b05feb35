// Control groups of version 2 (cgroups(7)), as a way to name processes together and to kill them as one. No controller
// is used, so none has to be enabled.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sys/descendants.h"

namespace dlaunch::sys {

/// Where their hierarchy is mounted, alone or beside those of version 1.
std::optional<std::string> cgroup_mount();

/// The directory of the one that this process is in.
std::optional<std::string> own_cgroup();

/// Those directly below it.
std::vector<std::string> cgroups_in(const std::string& cgroup);

/// Itself and all below it, the upper before the lower; bounded.
std::vector<std::string> cgroup_tree(const std::string& cgroup);

/// The living processes in it and below it, as far as this process namespace shows them.
std::vector<Process> processes_in(const std::string& cgroup);

/// KILL to all that is in it and below it: in one step that no fork escapes (Linux 5.14), or one by one.
void kill_cgroup(const std::string& cgroup);

/// With those below it. False while a process is in it.
bool remove_cgroup(const std::string& cgroup);

}  // namespace dlaunch::sys
