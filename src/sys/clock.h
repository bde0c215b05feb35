// The wall clock, as in messages and records.
#pragma once

#include <chrono>
#include <cstdint>

namespace dlaunch::sys {

/// CLOCK_REALTIME in nanoseconds.
std::int64_t wall_ns();

/// The time for which this machine has been suspended since its boot.
std::chrono::nanoseconds suspended();

}  // namespace dlaunch::sys
