// Proves that a thread has not run between two moments, by counters of the kernel.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "stacks/thread_state.h"

namespace dlaunch::stacks {

/// The counters of a thread that waits in a system call without a CPU. The kernel counts each loss of the CPU before it
/// shows the thread as waiting. So equal values prove that the thread did not run in between: its stack is the same.
struct SwitchCount {
  std::string counts;  ///< counts of context switches
  std::string call;    ///< /proc/PID/task/TID/syscall

  bool operator==(const SwitchCount&) const = default;
};

/// nullopt: the thread runs or waits for a CPU, or the kernel does not report it.
std::optional<SwitchCount> switch_count_of(pid_t pid, pid_t tid);

/// The number of waits of a running thread so far; nullopt: the thread waits, or the kernel does not report it.
std::optional<std::int64_t> waits_of_running(pid_t pid, pid_t tid);

}  // namespace dlaunch::stacks
