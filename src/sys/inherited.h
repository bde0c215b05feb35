// What a process inherits: its limit of open files (raised for us, given back to the ranks as it was), the signals that
// it ignores, and the CPUs that it may run on.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>
#include <cstdint>
#include <optional>
#include <vector>

namespace dlaunch::sys {

/// Raises the soft limit to the hard one. Returns what it was before.
rlimit raise_open_files();

/// How many descriptors may be open now.
rlim_t open_files_limit();

/// Whoever started us may have it so, and then it is to stay so: nohup, and `dlaunch … &` in a script.
bool is_ignored(int signal);

/// Ascending, however many CPUs the machine has; nothing, with errno, when the kernel does not say. 0: this thread.
std::optional<std::vector<std::uint32_t>> affinity_of(pid_t pid);

}  // namespace dlaunch::sys
