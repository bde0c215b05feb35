// Samples processes from outside. Does not change a process, and does not interrupt a system call that a stop would
// harm; a running thread is stopped for some microseconds. All data of a process is untrusted: lengths and depths are
// limited, and malformed data is left out with a remark.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <vector>

#include "base/time.h"
#include "stacks/modules.h"
#include "stacks/native.h"
#include "stacks/process.h"
#include "stacks/sample.h"
#include "sys/descendants.h"

namespace dlaunch::stacks {

// Earlier samples of processes that have not run since.

/// The switch count of each compared thread. Empty: a thread without a count.
using SwitchCounts = std::vector<std::pair<pid_t, SwitchCount>>;

/// Above the limit of memory, nothing is added.
class SampleCache {
 public:
  explicit SampleCache(std::size_t most = 12u << 20) : most_(most) {}

  /// Forgets samples that the last samplings did not use.
  void begin_sampling();
  /// `switch_counts`: counted before the sample. `all_threads`: the sample has the frames of all threads.
  void keep(const Sample& sample, std::uint64_t start_time, SwitchCounts switch_counts, bool all_threads);
  /// The kept sample of a process whose threads have not run since; null: none. Valid until the next call.
  const Sample* find(pid_t pid, std::uint64_t start_time, const SwitchCounts& switch_counts, bool all_threads);
  std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    std::uint64_t start_time;
    SwitchCounts switch_counts;
    bool all_threads;
    int look;
    Sample sample;
    std::size_t bytes;
  };
  void forget(std::map<pid_t, Entry>::iterator entry);

  std::size_t most_;
  std::size_t bytes_ = 0;
  int look_ = 0;
  std::map<pid_t, Entry> entries_;
};

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
