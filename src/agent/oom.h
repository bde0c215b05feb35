// Evidence that the kernel killed for memory: the count of oom_kill events of this process's memory cgroup.
#pragma once

#include <optional>

namespace dlaunch::agent {

/// From memory.events (cgroup v2) or memory.oom_control (v1); nullopt where neither can be read.
std::optional<long> oom_kills();

}  // namespace dlaunch::agent
