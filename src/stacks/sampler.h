// Samples processes from outside. Does not change a process, and does not interrupt a system call that a stop would
// harm; a running thread is stopped for some microseconds. All data of a process is untrusted: lengths and depths are
// limited, and malformed data is left out with a remark.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <vector>

#include "base/time.h"
#include "stacks/budget.h"
#include "stacks/function_names.h"
#include "stacks/modules.h"
#include "stacks/sample.h"
#include "stacks/sample_cache.h"
#include "sys/descendants.h"

namespace dlaunch::stacks {

/// The caches of repeated samples of the same processes.
struct Caches {
  ModuleCache modules{};
  SampleCache samples{};
};

/// Settings and state of one sampling of many processes. Works in any thread, and ends by the deadline. Data missing at
/// the deadline, or above a limit of memory or work, is marked as timed out: a frame is never wrong.
struct Sampler {
  /// Larger than any process with 1,024 usual threads needs.
  static constexpr Budget::Limits kOfAProcess{.bytes = 16u << 20, .work = 1u << 30};
  static constexpr std::size_t kMostBytes = 32u << 20;  ///< with all samples, without the caches

  Time deadline;
  bool all_threads = false;  ///< native frames of all threads, not only of the main thread
  Caches caches = {};
  Budget budget{{.bytes = kMostBytes, .work = UINT64_MAX}};
  ModuleNames names{budget};
  /// all processes of this machine, if the kernel keeps no lists of children
  std::vector<sys::Process> processes = {};
  const bool own_pids = sys::proc_shows_own_pids();  ///< false: every sample is empty
};

/// Samples one process. Returns the earlier sample with new counters if the main thread (with `all_threads`: no thread)
/// has not run since.
Sample take(pid_t pid, Sampler& sampler);

/// Marks all threads as timed out.
void drop_frames(Sample& sample);

inline constexpr std::size_t kMostProcesses = 64;  ///< limit of sampled processes in a tree

Tree take_tree(pid_t pid, Sampler& sampler);

}  // namespace dlaunch::stacks
