// The words for a process that the kernel killed for lack of memory.
#pragma once

namespace dlaunch {

inline constexpr const char* kOutOfMemory = ", out of memory (its cgroup counted an oom_kill)";

}  // namespace dlaunch
