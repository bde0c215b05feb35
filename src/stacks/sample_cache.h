// Samples of earlier looks, for processes that have not run since.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "stacks/sample.h"
#include "stacks/switch_count.h"

namespace dlaunch::stacks {

/// Each thread that is compared with its rest. Empty: one of them has none.
using SwitchCounts = std::vector<std::pair<pid_t, SwitchCount>>;

class SampleCache {
 public:
  /// Forgets those that were neither kept nor found in the last looks.
  void begin_sampling();
  /// `switch_counts`: from before the sample was taken. `all_threads`: with the frames of all.
  void keep(const Sample& sample, std::uint64_t start_time, SwitchCounts switch_counts, bool all_threads);
  /// What is kept of a process, whose threads have not run since; null: nothing. Until the next call.
  const Sample* find(pid_t pid, std::uint64_t start_time, const SwitchCounts& switch_counts, bool all_threads);

 private:
  struct Entry {
    std::uint64_t start_time;
    SwitchCounts switch_counts;
    bool all_threads;
    int look;
    Sample sample;
  };
  int look_ = 0;
  std::map<pid_t, Entry> entries_;
};

}  // namespace dlaunch::stacks
