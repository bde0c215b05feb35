// Earlier samples of processes that have not run since.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "stacks/sample.h"
#include "stacks/switch_count.h"

namespace dlaunch::stacks {

/// The switch count of each compared thread. Empty: a thread without a count.
using SwitchCounts = std::vector<std::pair<pid_t, SwitchCount>>;

class SampleCache {
 public:
  /// Forgets samples that were neither kept nor found in the last samplings.
  void begin_sampling();
  /// `switch_counts`: from before the sample. `all_threads`: the sample has the frames of all threads.
  void keep(const Sample& sample, std::uint64_t start_time, SwitchCounts switch_counts, bool all_threads);
  /// The kept sample of a process whose threads have not run since; null: none. Valid until the next call.
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
