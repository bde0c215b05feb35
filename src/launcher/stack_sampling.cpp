#include "launcher/stack_sampling.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace dlaunch::launcher {

void StackSampling::begin(const std::set<int>& ranks, Depth depth, std::chrono::milliseconds longest,
                          const Done& done) {
  const std::uint32_t id = next_++;
  Look& look = looks_.try_emplace(id, io_, done).first->second;
  std::map<int, wire::SampleStacks> questions;
  for (const int rank : ranks) questions[plan_.rank(rank).host].ranks.push_back(static_cast<std::uint32_t>(rank));
  for (auto& [host, question] : questions) {
    question.id = id;
    question.whole = depth == Depth::whole;
    look.seen.silent.insert(host);
    hosts_.send(host, question);
  }
  limit(id, ranks.empty() ? std::chrono::milliseconds(0) : longest);
}

void StackSampling::limit(std::uint32_t id, std::chrono::milliseconds limit) {
  asio::steady_timer& timer = looks_.at(id).timer;
  timer.expires_after(limit);
  timer.async_wait([this, id](asio::error_code error) {
    if (!error) end(id);
  });
}

std::string StackSampling::received(int host, wire::Stacks stacks) {
  if (stacks.id == 0 || stacks.id >= next_) return "its agent answers what nobody asked";
  if (!stacks.sound()) return "its agent tells of stacks what does not fit together";
  const auto is_there = [&](std::uint32_t rank) { return rank < plan_.ranks.size() && plan_.ranks[rank].host == host; };
  if (!std::ranges::all_of(stacks.ranks, is_there)) return "its agent names a rank of another host";
  const auto found = looks_.find(stacks.id);
  if (found == looks_.end() || found->second.seen.silent.erase(host) == 0) return {};
  found->second.seen.answers.emplace(host, std::move(stacks));
  if (found->second.seen.silent.empty()) limit(found->first, std::chrono::milliseconds(0));
  return {};
}

/// It is named as one that did not answer.
void StackSampling::host_lost(int host) {
  for (auto& [id, look] : looks_) {
    const bool last = look.seen.silent.size() == 1 && look.seen.silent.contains(host);
    if (last) limit(id, std::chrono::milliseconds(0));
  }
}

void StackSampling::end(std::uint32_t id) {
  const auto found = looks_.find(id);
  if (found == looks_.end()) return;
  auto node = looks_.extract(found);  // `done` may begin another one
  node.mapped().done(std::move(node.mapped().seen));
}

}  // namespace dlaunch::launcher
