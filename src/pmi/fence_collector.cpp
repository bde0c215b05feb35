#include "pmi/fence_collector.h"

#include <algorithm>
#include <utility>

#include "dlaunch/worlds.h"

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

NameService::Answer NameService::ask(NameOp op, const std::string& service, const std::string& port) {
  switch (op) {
    case NameOp::publish:
      return {publish(service, port), {}};
    case NameOp::lookup: {
      const auto found = ports_.find(service);
      if (found == ports_.end()) return {};
      return {true, found->second};
    }
    case NameOp::unpublish: {
      const auto found = ports_.find(service);
      if (found == ports_.end()) return {};
      bytes_ -= service.size() + found->second.size();
      ports_.erase(found);
      return {true, {}};
    }
  }
  return {};
}

bool NameService::publish(const std::string& service, const std::string& port) {
  const size_t bytes = bytes_ + service.size() + port.size();
  if (ports_.size() >= kMost || bytes > kMostBytes || !ports_.emplace(service, port).second) return false;
  bytes_ = bytes;
  return true;
}

bool KeyValueStore::put(std::string key, std::string value) {
  const size_t size = size_of_pair(key, value);
  if (unsent_bytes_ + size > kMaxUnsent || !store(key, value)) return false;
  unsent_bytes_ += size;
  unsent_.push_back(std::move(key));
  unsent_.push_back(std::move(value));
  return true;
}

bool KeyValueStore::take(const std::vector<std::string>& pairs) {
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    if (!store(pairs[i], pairs[i + 1])) return false;
  }
  return true;
}

const std::string* KeyValueStore::find(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

std::vector<std::string> KeyValueStore::take_unsent() {
  unsent_bytes_ = 0;
  return std::exchange(unsent_, {});
}

bool KeyValueStore::store(std::string key, std::string value) {
  const auto known = values_.find(key);
  const size_t before = known == values_.end() ? 0 : size_of_pair(key, known->second);
  const size_t after = bytes_ - before + size_of_pair(key, value);
  if (after > kMaxSpace) return false;
  bytes_ = after;
  values_.insert_or_assign(std::move(key), std::move(value));
  return true;
}

}  // namespace dlaunch::pmi
