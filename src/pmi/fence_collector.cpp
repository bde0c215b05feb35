#include "pmi/fence_collector.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "dlaunch/worlds.h"
#include "pmi/key_value_store.h"

namespace dlaunch::pmi {
namespace {

constexpr size_t kPiece = 4u << 20;  // limit for one FenceOut; a frame has at most 16 MiB

}  // namespace

std::string broken_fence(const std::string& rank) {
  return rank + " has left MPI or never entered MPI, so the ranks that wait for " + rank + " in MPI are disconnected";
}

FenceCollector::FenceCollector(std::vector<int> ranks_of_host, int number, std::uint32_t first)
    : number_(number), first_(first), ranks_left_(std::move(ranks_of_host)), has_come_(ranks_left_.size()) {
  for (const int ranks : ranks_left_) {
    takes_part_.push_back(ranks > 0);
    if (ranks > 0) ++hosts_;
  }
}

std::string FenceCollector::name(std::uint32_t rank) const {
  return "rank " + Worlds::rank_name({number_, static_cast<int>(rank - first_)});
}

std::string FenceCollector::take(int host, std::vector<std::string> pairs, const std::vector<std::uint32_t>& gone) {
  const auto at = static_cast<size_t>(host);
  if (!takes_part(host) || has_come_[at] || ranks_left_[at] == 0)
    return "protocol error: unexpected message from the agent";
  if (pairs.size() % 2 != 0) return "protocol error: the agent sent a key without a value";
  size_t bytes = 0;
  for (size_t i = 0; i < pairs.size(); i += 2) bytes += size_of_pair(pairs[i], pairs[i + 1]);
  if (bytes > kMaxUnsent) return "protocol error: the agent sent too much data to a fence";
  has_come_[at] = true;
  ++came_;
  bytes_ += bytes;
  if (bytes_ <= kMaxSpace) {
    pairs_.insert(pairs_.end(), std::move_iterator(pairs.begin()), std::move_iterator(pairs.end()));
  }
  if (!gone.empty()) missing_ = std::min(gone.front(), missing_.value_or(gone.front()));
  return {};
}

void FenceCollector::rank_ended(int host, std::uint32_t rank) {
  const auto at = static_cast<size_t>(host);
  if (--ranks_left_[at] > 0) return;
  if (!last_of_empty_) last_of_empty_ = rank;
  if (!has_come_[at]) ++empty_;
}

std::vector<FenceCollector::Shared> FenceCollector::take_result() {
  if (!complete()) return {};
  std::vector<Shared> all(1);
  if (empty_ > 0 && !missing_) missing_ = last_of_empty_;
  if (missing_) {
    all.back().broken = broken_fence(name(*missing_));
  } else if (bytes_ > kMaxSpace) {
    all.back().broken = "the ranks put " + std::to_string(bytes_) + " bytes into MPI's key-value space; the limit is " +
                        std::to_string(kMaxSpace);
  } else {
    size_t size = 0;
    for (size_t i = 0; i < pairs_.size(); i += 2) {
      if (size > kPiece) {
        all.emplace_back();
        size = 0;
      }
      size += pairs_[i].size() + pairs_[i + 1].size();
      all.back().pairs.push_back(std::move(pairs_[i]));
      all.back().pairs.push_back(std::move(pairs_[i + 1]));
    }
  }
  all.back().last = true;
  for (size_t host = 0; host < has_come_.size(); ++host) {
    if (has_come_[host] && ranks_left_[host] == 0) ++empty_;
  }
  has_come_.assign(has_come_.size(), false);
  pairs_.clear();
  bytes_ = came_ = 0;
  missing_.reset();
  return all;
}

}  // namespace dlaunch::pmi
