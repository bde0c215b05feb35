// The wall clock, as the wire and the records carry it.
#pragma once

#include <chrono>
#include <cstdint>

namespace dlaunch::sys {

/// CLOCK_REALTIME in nanoseconds.
std::int64_t wall_ns();

/// For how long this machine has been suspended since it started.
std::chrono::nanoseconds suspended();

}  // namespace dlaunch::sys
