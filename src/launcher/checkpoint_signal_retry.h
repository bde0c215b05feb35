// The ranks that did not catch the checkpoint signal when it was sent: a rank that still starts has no handler yet.
// They are sent it again and again, until they catch it or the time to save their state is over. PURE.
#pragma once

#include <cstdint>
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

  /// An agent's answer. Returns the ranks of which no earlier answer said this.
  std::set<int> uncaught(int host, const wire::Uncaught& answer, Time now);

  /// What is to be sent to hosts now. To be asked while the ranks save their state.
  std::vector<std::pair<int, wire::Signal>> due(Time now);

 private:
  std::map<int, wire::Signal> again_;  // by host
  Time next_ = {};
  std::set<int> known_;
};

}  // namespace dlaunch::launcher
