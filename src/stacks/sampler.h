// Samples processes from outside. Does not change a process, and does not interrupt a system call that a stop would
// harm; a running thread is stopped for some microseconds. All data of a process is untrusted: lengths and depths are
// limited, and malformed data is left out with a remark.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <vector>

#include "base/time.h"
#include "stacks/function_names.h"
#include "stacks/modules.h"
#include "stacks/sample.h"
#include "stacks/sample_cache.h"
#include "sys/descendants.h"

namespace dlaunch::stacks {

/// The caches of repeated samples of the same processes.
struct Caches {
  ModuleCache modules = {};
  SampleCache samples = {};
};

/// Settings and state of one sampling of many processes. Works in any thread, and ends by the deadline. Data missing at
/// the deadline is marked as timed out: a frame is never wrong.
struct Sampler {
  Time deadline;
  bool all_threads = false;  ///< native frames of all threads, not only of the main thread
  Caches caches = {};
  ModuleNames names = {};
  /// all processes of this machine, if the kernel keeps no lists of children
  std::vector<sys::Process> processes = {};
};

/// Samples one process. Returns the earlier sample with new counters if the main thread (with `all_threads`: no thread)
/// has not run since.
Sample take(pid_t pid, Sampler& sampler);

inline constexpr std::size_t kMostProcesses = 64;  ///< limit of sampled processes in a tree

Tree take_tree(pid_t pid, Sampler& sampler);

}  // namespace dlaunch::stacks
