// The wall clock, as in messages and records.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>

namespace dlaunch::sys {

/// CLOCK_REALTIME in nanoseconds.
std::int64_t wall_ns();

/// The CPU time of a process; 0: not known.
std::uint64_t cpu_ns(pid_t pid);

/// The time for which this machine has been suspended since its boot.
std::chrono::nanoseconds suspended();

}  // namespace dlaunch::sys
