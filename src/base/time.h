// The clock of every wait, limit and duration: it does not jump when the time of day is set.
#pragma once

#include <chrono>

namespace dlaunch {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;
using Duration = Clock::duration;

}  // namespace dlaunch
