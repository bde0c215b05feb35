#include "pmix/published_data.h"

#include <algorithm>
#include <iterator>

namespace dlaunch::pmix {
namespace {

constexpr size_t kOverhead = 64;  // for each key of any length

size_t size_of(const std::vector<std::string>& texts) {
  size_t size = 0;
  for (const std::string& text : texts) size += text.size() + kOverhead;
  return size;
}

size_t cost(const std::string& key, const std::string& value) { return key.size() + value.size() + 2 * kOverhead; }

bool same(const ProcId& a, const ProcId& b) { return a.rank == b.rank && a.space == b.space; }

}  // namespace

PublishedData::Answers PublishedData::publish(const Asker& asker, const std::vector<std::string>& keys,
                                              const std::vector<std::string>& values, bool once) {
  Answers answers{{asker.host, asker.id, PmixStatus::ok, {}}};
  PmixStatus& status = answers.front().status;
  const size_t bytes = size_of(keys) + size_of(values);
  if (keys.size() != values.size() || keys.size() > kMostKeys) status = PmixStatus::bad_parameter;
  if (entries_.size() + keys.size() > kMost || bytes_ + bytes > kMostBytes) status = PmixStatus::out_of_memory;
  if (std::ranges::any_of(keys, [&](const std::string& key) { return entries_.contains(key); })) {
    status = PmixStatus::duplicate_key;
  }
  if (status != PmixStatus::ok) return answers;
  for (size_t i = 0; i < keys.size(); ++i) {
    if (entries_.emplace(keys[i], Entry{asker.rank, values[i], once}).second) bytes_ += cost(keys[i], values[i]);
  }
  size_t left = kMostBytes;  // limit for all answers to lookups that wait for these keys
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    if (!has_all(at->keys)) {
      ++at;
      continue;
    }
    const size_t found = bytes_of(at->keys);
    answers.push_back(answer(at->asker, at->keys, std::min(left, kMostFound)));
    left -= std::min(left, found);
    awaited_ -= size_of(at->keys);
    at = waiting_.erase(at);
  }
  return answers;
}

PublishedData::Answers PublishedData::look_up(const Asker& asker, const std::vector<std::string>& keys, bool wait) {
  if (keys.empty() || keys.size() > kMostKeys) return {{asker.host, asker.id, PmixStatus::bad_parameter, {}}};
  if (wait && !has_all(keys)) {
    const size_t awaited = awaited_ + size_of(keys);
    if (waiting_.size() >= kMost || awaited > kMostBytes)
      return {{asker.host, asker.id, PmixStatus::out_of_memory, {}}};
    awaited_ = awaited;
    waiting_.push_back({asker, keys});
    return {};
  }
  return {answer(asker, keys, kMostFound)};
}

PublishedData::Answer PublishedData::answer(const Asker& asker, const std::vector<std::string>& keys, size_t most) {
  if (bytes_of(keys) > most) return {asker.host, asker.id, PmixStatus::out_of_memory, {}};
  Answer answer{asker.host, asker.id, PmixStatus::ok, take(keys)};
  if (answer.found.empty()) answer.status = PmixStatus::not_found;
  return answer;
}

size_t PublishedData::bytes_of(const std::vector<std::string>& keys) const {
  size_t bytes = 0;
  for (const std::string& key : keys) {
    const auto found = entries_.find(key);
    if (found != entries_.end()) bytes += cost(key, found->second.value);
  }
  return bytes;
}

PublishedData::Answers PublishedData::unpublish(const Asker& asker, const std::vector<std::string>& keys) {
  Answer answer{asker.host, asker.id, PmixStatus::ok, {}};
  for (const std::string& key : keys) {
    const auto found = entries_.find(key);
    if (found != entries_.end() && same(found->second.owner, asker.rank)) {
      erase(found);
    } else {
      answer.status = PmixStatus::not_found;
    }
  }
  for (auto at = entries_.begin(); keys.empty() && at != entries_.end();) {
    const auto next = std::next(at);
    if (same(at->second.owner, asker.rank)) erase(at);
    at = next;
  }
  return {std::move(answer)};
}

void PublishedData::ended(const ProcId& rank) {
  std::erase_if(waiting_, [&](const Waiting& waiting) {
    if (!same(waiting.asker.rank, rank)) return false;
    awaited_ -= size_of(waiting.keys);
    return true;
  });
}

std::vector<PublishedData::Found> PublishedData::take(const std::vector<std::string>& keys) {
  std::vector<Found> found;
  for (const std::string& key : keys) {
    const auto at = entries_.find(key);
    if (at == entries_.end()) continue;
    found.push_back({at->second.owner, key, at->second.value});
    if (at->second.once) erase(at);
  }
  return found;
}

bool PublishedData::has_all(const std::vector<std::string>& keys) const {
  return std::ranges::all_of(keys, [&](const std::string& key) { return entries_.contains(key); });
}

void PublishedData::erase(std::map<std::string, Entry>::iterator at) {
  bytes_ -= cost(at->first, at->second.value);
  entries_.erase(at);
}

}  // namespace dlaunch::pmix
