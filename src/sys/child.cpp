#include "sys/child.h"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

namespace dlaunch::sys {

constexpr std::chrono::milliseconds kLookEvery{5};  // where there is no pidfd

Fd open_pidfd(pid_t pid) { return Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))); }

bool reap_by(pid_t pid, const Fd& pidfd, Time deadline, int* wait_status) {
  while (::waitpid(pid, wait_status, WNOHANG) == 0) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    if (left.count() <= 0) return false;
    pollfd ended{pidfd.get(), POLLIN, 0};
    ::poll(&ended, 1, static_cast<int>((pidfd ? left : std::min(left, kLookEvery)).count()));
  }
  return true;
}

}  // namespace dlaunch::sys
