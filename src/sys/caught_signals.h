// Which of our descendants have a handler for a signal. The kernel ends the others by it, unless they ignore it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace dlaunch::sys {

/// Whether the process has a handler for the signal: SigCgt of proc(5). False where there is no such process.
bool catches(int pid, int signal);

/// Sends the signal to each of these children of ours, numbered, that catches it. Below one that does not, as a shell
/// that waits for the program, it goes to the first processes on each branch that do; what they have started is their
/// own affair, for a forked worker has its parent's handlers. Returns the numbers of those where nothing does. One pass
/// over /proc.
std::vector<std::uint32_t> signal_where_caught(const std::vector<std::pair<std::uint32_t, pid_t>>& children,
                                               int signal);

}  // namespace dlaunch::sys
