// The CPUs that a process may run on.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace dlaunch::sys {

/// Ascending, however many CPUs the machine has; nothing, with errno, when the kernel does not say. 0: this thread.
std::optional<std::vector<std::uint32_t>> affinity_of(pid_t pid);

}  // namespace dlaunch::sys
