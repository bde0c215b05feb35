#include "launcher/checkpoint_signal_retry.h"

namespace dlaunch::launcher {

std::set<int> CheckpointSignalRetry::uncaught(int host, const wire::Uncaught& answer, Time now) {
  std::set<int> unknown;
  for (const std::uint32_t rank : answer.ranks) {
    if (known_.insert(static_cast<int>(rank)).second) unknown.insert(static_cast<int>(rank));
  }
  if (answer.ranks.empty()) return unknown;
  if (again_.empty()) next_ = now + kAskAgain;
  again_[host] = {answer.signal, true, answer.ranks};
  return unknown;
}

std::vector<std::pair<int, wire::Signal>> CheckpointSignalRetry::due(Time now) {
  if (again_.empty() || now < next_) return {};
  std::vector<std::pair<int, wire::Signal>> signals(again_.begin(), again_.end());
  again_.clear();
  return signals;
}

}  // namespace dlaunch::launcher
