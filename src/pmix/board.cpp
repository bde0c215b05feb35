#include "pmix/board.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace dlaunch::pmix {
namespace {

bool same(const Process& a, const Process& b) { return a.rank == b.rank && a.space == b.space; }

}  // namespace

Board::Answers Board::publish(const Asker& asker, const std::vector<std::string>& keys,
                              const std::vector<std::string>& values, bool once) {
  Answers answers{{asker.host, asker.id, Status::ok, {}}};
  Status& status = answers.front().status;
  size_t bytes = 0;
  for (const std::string& value : values) bytes += value.size();
  if (keys.size() != values.size() || keys.size() > kMostKeys) status = Status::bad_parameter;
  if (entries_.size() + keys.size() > kMost || bytes_ + bytes > kMostBytes) status = Status::out_of_memory;
  if (std::ranges::any_of(keys, [&](const std::string& key) { return entries_.contains(key); })) {
    status = Status::duplicate_key;
  }
  if (status != Status::ok) return answers;
  bytes_ += bytes;
  for (size_t i = 0; i < keys.size(); ++i) entries_.insert_or_assign(keys[i], Entry{asker.rank, values[i], once});
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    if (!has_all(at->keys)) {
      ++at;
      continue;
    }
    answers.push_back({at->asker.host, at->asker.id, Status::ok, take(at->keys)});
    at = waiting_.erase(at);
  }
  return answers;
}

Board::Answers Board::look_up(const Asker& asker, const std::vector<std::string>& keys, bool wait) {
  if (keys.empty() || keys.size() > kMostKeys) return {{asker.host, asker.id, Status::bad_parameter, {}}};
  if (wait && !has_all(keys)) {
    if (waiting_.size() >= kMost) return {{asker.host, asker.id, Status::out_of_memory, {}}};
    waiting_.push_back({asker, keys});
    return {};
  }
  Answer answer{asker.host, asker.id, Status::ok, take(keys)};
  if (answer.found.empty()) answer.status = Status::not_found;
  return {std::move(answer)};
}

Board::Answers Board::unpublish(const Asker& asker, const std::vector<std::string>& keys) {
  Answer answer{asker.host, asker.id, Status::ok, {}};
  for (const std::string& key : keys) {
    const auto found = entries_.find(key);
    if (found != entries_.end() && same(found->second.owner, asker.rank)) {
      erase(found);
    } else {
      answer.status = Status::not_found;
    }
  }
  for (auto at = entries_.begin(); keys.empty() && at != entries_.end();) {
    const auto next = std::next(at);
    if (same(at->second.owner, asker.rank)) erase(at);
    at = next;
  }
  return {std::move(answer)};
}

void Board::ended(const Process& rank) {
  std::erase_if(waiting_, [&](const Waiting& waiting) { return same(waiting.asker.rank, rank); });
}

std::vector<Board::Found> Board::take(const std::vector<std::string>& keys) {
  std::vector<Found> found;
  for (const std::string& key : keys) {
    const auto at = entries_.find(key);
    if (at == entries_.end()) continue;
    found.push_back({at->second.owner, key, at->second.value});
    if (at->second.once) erase(at);
  }
  return found;
}

bool Board::has_all(const std::vector<std::string>& keys) const {
  return std::ranges::all_of(keys, [&](const std::string& key) { return entries_.contains(key); });
}

void Board::erase(std::map<std::string, Entry>::iterator at) {
  bytes_ -= at->second.value.size();
  entries_.erase(at);
}

}  // namespace dlaunch::pmix
