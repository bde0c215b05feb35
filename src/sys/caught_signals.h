// Finds descendants with a handler for a signal. The signal terminates processes without a handler, unless they ignore
// it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace dlaunch::sys {

/// Returns true if the process has a handler for the signal (SigCgt of proc(5)); false if the process does not exist.
bool catches(int pid, int signal);

/// Sends the signal to each of these numbered children that catches it. If a child does not (a shell that waits for the
/// program), the first processes on each branch below that catch it get the signal. Their own children do not: a forked
/// worker has the handlers of its parent. Returns the numbers of children without any handler. One pass over /proc.
std::vector<std::uint32_t> signal_where_caught(const std::vector<std::pair<std::uint32_t, pid_t>>& children,
                                               int signal);

}  // namespace dlaunch::sys
