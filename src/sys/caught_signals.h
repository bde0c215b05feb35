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

/// Sends the signal to each child that has a handler for the signal. A child without a handler may be a shell that
/// waits for the program: the first descendant with a handler on each branch of its process tree gets the signal. The
/// children of a process with a handler do not get the signal, because a forked worker has the handlers of its parent.
/// Returns the numbers of the children for which no process got the signal. Reads /proc once.
std::vector<std::uint32_t> signal_where_caught(const std::vector<std::pair<std::uint32_t, pid_t>>& children,
                                               int signal);

}  // namespace dlaunch::sys
