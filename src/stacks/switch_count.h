// Whether a thread has run between two moments, by what the kernel counts.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

#include "stacks/thread_state.h"

namespace dlaunch::stacks {

/// A thread that has no CPU and waits in a system call. Each time that it gives its CPU up is counted before it is seen
/// to have none, so two that are equal prove that it did not run from the first to the second: its stack is the same.
struct SwitchCount {
  std::string counts;  ///< of context switches
  std::string call;    ///< /proc/PID/task/TID/syscall

  bool operator==(const SwitchCount&) const = default;
};

/// nullopt: it runs or waits for a CPU, or the kernel does not tell.
std::optional<SwitchCount> switch_count_of(pid_t pid, pid_t tid);

}  // namespace dlaunch::stacks
