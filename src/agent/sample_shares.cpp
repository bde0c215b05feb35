#include "agent/sample_shares.h"

#include <algorithm>

namespace dlaunch::agent {
namespace {

Time share(Time now, Time end, std::size_t ranks) { return now + (end - now) / static_cast<std::int64_t>(ranks); }

}  // namespace

std::vector<RankTree> sample_in_shares(const StackSampler::RankPids& ranks, Time end, const std::function<Time()>& now,
                                       const std::function<stacks::Tree(pid_t pid, Time deadline)>& take) {
  std::vector<RankTree> trees;
  for (std::size_t i = 0; i < ranks.size() && now() < end; ++i) {
    trees.push_back({ranks[i].first, take(ranks[i].second, share(now(), end, ranks.size() - i))});
  }
  const auto timed_out = [](const RankTree& one) { return one.tree.timed_out; };
  auto again = static_cast<std::size_t>(std::ranges::count_if(trees, timed_out));
  for (std::size_t i = 0; i < trees.size() && again > 0 && now() < end; ++i) {
    if (trees[i].tree.timed_out) trees[i].tree = take(ranks[i].second, share(now(), end, again--));
  }
  return trees;
}

}  // namespace dlaunch::agent
