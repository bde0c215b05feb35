#include "stacks/sample_cache.h"

#include <utility>

namespace dlaunch::stacks {
namespace {

constexpr int kKeptLooks = 16;
constexpr std::size_t kMostKept = 4096;

}  // namespace

void SampleCache::begin_look() {
  ++look_;
  std::erase_if(entries_, [this](const auto& entry) { return entry.second.look + kKeptLooks < look_; });
  if (entries_.size() > kMostKept) entries_.clear();
}

void SampleCache::keep(const Sample& sample, std::uint64_t start_time, Rests rests, bool all_threads) {
  if (rests.empty()) return;
  entries_.insert_or_assign(sample.pid, Entry{start_time, std::move(rests), all_threads, look_, sample});
}

const Sample* SampleCache::find(pid_t pid, std::uint64_t start_time, const Rests& rests, bool all_threads) {
  const auto found = entries_.find(pid);
  if (found == entries_.end()) return nullptr;
  Entry& entry = found->second;
  if (rests.empty() || entry.start_time != start_time || (all_threads && !entry.all_threads)) return nullptr;
  if (all_threads ? entry.rests != rests : entry.rests.front() != rests.front()) return nullptr;
  entry.look = look_;
  return &entry.sample;
}

}  // namespace dlaunch::stacks
