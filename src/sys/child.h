// Waits for a child until a deadline.
#pragma once

#include <sys/types.h>

#include "base/time.h"
#include "sys/fd.h"

namespace dlaunch::sys {

/// A pidfd; empty, with errno set, on a kernel before 5.3.
Fd open_pidfd(pid_t pid);

/// Reaps the child. Returns true after its end (also if another caller reaped it), false at the deadline. Signals do
/// not shorten the wait. Without a `pidfd`, polls the child every few milliseconds. `wait_status`: as in waitpid, set
/// only if this call reaped the child.
bool reap_by(pid_t pid, const Fd& pidfd, Time deadline, int* wait_status = nullptr);

}  // namespace dlaunch::sys
