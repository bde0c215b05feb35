#include "launcher/stack_sampling.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace dlaunch::launcher {

void StackSampling::begin(const std::set<int>& ranks, Depth depth, std::chrono::milliseconds longest,
                          const Done& done) {
  const std::uint32_t id = next_++;
  Request& request = requests_.try_emplace(id, io_, done).first->second;
  std::map<int, wire::SampleStacks> questions;
  for (const int rank : ranks) questions[plan_.rank(rank).host].ranks.push_back(static_cast<std::uint32_t>(rank));
  for (auto& [host, question] : questions) {
    question.id = id;
    question.whole = depth == Depth::whole;
    request.snapshot.silent.insert(host);
    hosts_.send(host, question);
  }
  limit(id, ranks.empty() ? std::chrono::milliseconds(0) : longest);
}

void StackSampling::limit(std::uint32_t id, std::chrono::milliseconds limit) {
  asio::steady_timer& timer = requests_.at(id).timer;
  timer.expires_after(limit);
  timer.async_wait(lifetime_.guard([this, id](asio::error_code error) {
    if (!error) end(id);
  }));
}

std::string StackSampling::received(int host, wire::Stacks stacks) {
  if (stacks.id == 0 || stacks.id >= next_) return "protocol error: unexpected reply from the agent";
  if (!stacks.sound()) return "protocol error: invalid stack sample from the agent";
  const auto is_there = [&](std::uint32_t rank) { return rank < plan_.ranks.size() && plan_.ranks[rank].host == host; };
  if (!std::ranges::all_of(stacks.ranks, is_there))
    return "protocol error: the agent sent a message about a rank of another host";
  const auto found = requests_.find(stacks.id);
  if (found == requests_.end() || found->second.snapshot.silent.erase(host) == 0) return {};
  found->second.snapshot.answers.emplace(host, std::move(stacks));
  if (found->second.snapshot.silent.empty()) limit(found->first, std::chrono::milliseconds(0));
  return {};
}

/// The host stays in `silent`.
void StackSampling::host_lost(int host) {
  for (auto& [id, request] : requests_) {
    const bool last = request.snapshot.silent.size() == 1 && request.snapshot.silent.contains(host);
    if (last) limit(id, std::chrono::milliseconds(0));
  }
}

void StackSampling::end(std::uint32_t id) {
  const auto found = requests_.find(id);
  if (found == requests_.end()) return;
  auto node = requests_.extract(found);  // `done` may start another request
  node.mapped().done(std::move(node.mapped().snapshot));
}

}  // namespace dlaunch::launcher
