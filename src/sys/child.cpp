#include "sys/child.h"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>

namespace dlaunch::sys {

constexpr int kLookEvery = 5;  // ms, without a pidfd

Fd open_pidfd(pid_t pid) { return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }

bool reap_by(pid_t pid, const Fd& pidfd, Time deadline, int* wait_status) {
  while (::waitpid(pid, wait_status, WNOHANG) == 0) {
    const int left = milliseconds_until(deadline);
    if (left == 0) return false;
    pollfd ended{pidfd.get(), POLLIN, 0};
    ::poll(&ended, 1, pidfd ? left : std::min(left, kLookEvery));
  }
  return true;
}

}  // namespace dlaunch::sys
