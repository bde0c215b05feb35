// Waiting for a child until a deadline.
#pragma once

#include <sys/types.h>

#include "base/time.h"
#include "sys/fd.h"

namespace dlaunch::sys {

/// A pidfd; empty, with errno set, on a kernel before 5.3.
Fd open_pidfd(pid_t pid);

/// Reaps the child. True once it has ended (or another has reaped it), false at the deadline. Signals do not shorten
/// the wait. `pidfd` may be empty; the child is then looked at every few milliseconds. `wait_status`: as waitpid gives
/// it, set only when the child was reaped here.
bool reap_by(pid_t pid, const Fd& pidfd, Time deadline, int* wait_status = nullptr);

}  // namespace dlaunch::sys
