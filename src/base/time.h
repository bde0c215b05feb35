// The clock of every wait, limit and duration: it does not jump when the time of day is set.
#pragma once

#include <algorithm>
#include <chrono>
#include <climits>

namespace dlaunch {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;
using Duration = Clock::duration;

/// As poll(2) takes them: rounded up, and 0 when that time is over.
inline int milliseconds_until(Time deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<decltype(left)>(left, 0, INT_MAX));
}

}  // namespace dlaunch
