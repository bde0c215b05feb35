// The clock of every wait, limit and duration. Changes of the wall clock do not affect this clock.
#pragma once

#include <algorithm>
#include <chrono>
#include <climits>

namespace dlaunch {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;
using Duration = Clock::duration;

/// A timeout for poll(2): rounded up; 0 if the time has passed.
inline int milliseconds_until(Time deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<decltype(left)>(left, 0, INT_MAX));
}

}  // namespace dlaunch
