// Looks at processes from outside. Nothing is put into a process, and no system call that a stop would harm is
// interrupted; a thread that runs is stopped for some microseconds. All that is read from it is data: lengths and
// depths are bounded, and what makes no sense is left out with a remark.
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

/// What one look leaves for the next, for who looks again and again at the same processes.
struct Caches {
  ModuleCache modules = {};
  SampleCache samples = {};
};

/// One look at many processes. It may be made in any thread, and ends by its deadline. What it has no time for
/// is marked as timed out: no frame is told that may be wrong.
struct Sampler {
  Time deadline;
  bool all_threads = false;  ///< native frames of all threads, not only of each main one
  Caches caches = {};
  ModuleNames names = {};
  std::vector<sys::Process> processes = {};  ///< of this machine, where the kernel keeps no lists of children
};

/// Where the main thread has not run since an earlier look (with `all_threads`: none has), what that one saw is given,
/// with the counters of now.
Sample take(pid_t pid, Sampler& sampler);

inline constexpr std::size_t kMostProcesses = 64;  ///< of a tree, that are sampled

Tree take_tree(pid_t pid, Sampler& sampler);

}  // namespace dlaunch::stacks
