// The wall clock, as the wire and the records carry it.
#pragma once

#include <cstdint>

namespace dlaunch::sys {

/// CLOCK_REALTIME in nanoseconds.
std::int64_t wall_ns();

}  // namespace dlaunch::sys
