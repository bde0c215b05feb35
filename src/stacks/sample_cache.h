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

/// Above the limit of memory, nothing is added.
class SampleCache {
 public:
  explicit SampleCache(std::size_t most = 12u << 20) : most_(most) {}

  /// Forgets samples that were neither kept nor found in the last samplings.
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

}  // namespace dlaunch::stacks
