// Resends the checkpoint signal to ranks that had no handler when the signal arrived, for example during their startup.
// Retries until the ranks catch the signal or the time to save their state is over. PURE. Owned by the Launcher.
#pragma once

#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/time.h"
#include "wire/message.h"

namespace dlaunch::launcher {

class CheckpointSignalRetry {
 public:
  static constexpr std::chrono::milliseconds kAskAgain{500};

  /// Takes an agent's answer. Returns the ranks that no earlier answer contained.
  std::set<int> uncaught(int host, const wire::Uncaught& answer, Time now);

  /// Returns the signals to send to hosts now. Call while the ranks save their state.
  std::vector<std::pair<int, wire::Signal>> due(Time now);

 private:
  std::map<int, wire::Signal> again_;  // by host
  Time next_ = {};
  std::set<int> known_;
};

}  // namespace dlaunch::launcher
