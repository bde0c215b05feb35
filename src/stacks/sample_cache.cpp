#include "stacks/sample_cache.h"

#include <iterator>
#include <utility>

#include "stacks/sample_bytes.h"

namespace dlaunch::stacks {
namespace {

constexpr int kKeptSamplings = 16;
constexpr std::size_t kOfAnEntry = 64;  // memory of an entry of the map
constexpr std::size_t kOfACount = 128;  // memory of a switch count, without its texts

}  // namespace

void SampleCache::begin_sampling() {
  ++look_;
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (entry->second.look + kKeptSamplings < look_) forget(entry);
    entry = next;
  }
}

void SampleCache::forget(std::map<pid_t, Entry>::iterator entry) {
  bytes_ -= entry->second.bytes;
  entries_.erase(entry);
}

void SampleCache::keep(const Sample& sample, std::uint64_t start_time, SwitchCounts switch_counts, bool all_threads) {
  if (const auto old = entries_.find(sample.pid); old != entries_.end()) forget(old);
  std::size_t bytes = sizeof(Entry) + kOfAnEntry + bytes_of(sample);
  for (const auto& [tid, count] : switch_counts) bytes += kOfACount + count.counts.capacity() + count.call.capacity();
  // A large sample must not use the memory of the others.
  if (switch_counts.empty() || bytes > most_ / 8 || bytes > most_ - bytes_) return;
  bytes_ += bytes;
  entries_.emplace(sample.pid, Entry{start_time, std::move(switch_counts), all_threads, look_, sample, bytes});
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
