#include "stacks/sample_cache.h"

#include <utility>

namespace dlaunch::stacks {
namespace {

constexpr int kKeptSamplings = 16;
constexpr std::size_t kMostKept = 4096;

}  // namespace

void SampleCache::begin_sampling() {
  ++look_;
  std::erase_if(entries_, [this](const auto& entry) { return entry.second.look + kKeptSamplings < look_; });
  if (entries_.size() > kMostKept) entries_.clear();
}

void SampleCache::keep(const Sample& sample, std::uint64_t start_time, SwitchCounts switch_counts, bool all_threads) {
  if (switch_counts.empty()) return;
  entries_.insert_or_assign(sample.pid, Entry{start_time, std::move(switch_counts), all_threads, look_, sample});
}

const Sample* SampleCache::find(pid_t pid, std::uint64_t start_time, const SwitchCounts& switch_counts,
                                bool all_threads) {
  const auto found = entries_.find(pid);
  if (found == entries_.end()) return nullptr;
  Entry& entry = found->second;
  if (switch_counts.empty() || entry.start_time != start_time || (all_threads && !entry.all_threads)) return nullptr;
  if (all_threads ? entry.switch_counts != switch_counts : entry.switch_counts.front() != switch_counts.front())
    return nullptr;
  entry.look = look_;
  return &entry.sample;
}

}  // namespace dlaunch::stacks
