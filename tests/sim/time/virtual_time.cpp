#include "time/virtual_time.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace sim {
namespace {

constexpr Ns kMonotonicBase = 1000 * kSecond;
constexpr Ns kWallBase = 1'800'000'000 * kSecond;
constexpr size_t kDescriptors = 4096;
Kernel* installed = nullptr;

/// Asio waits for its timers through one timerfd for each loop. The world answers the event of that descriptor.
struct Reactor {
  epoll_data_t timer{};
  std::optional<Ns> due;
};
struct Timer {
  bool used = false;
  int reactor = -1;  // -1: not added yet
  std::optional<Ns> early_due;
};
std::array<Reactor, kDescriptors> reactors;
std::array<Timer, kDescriptors> timers;

timespec to_timespec(Ns ns) { return {static_cast<time_t>(ns / kSecond), static_cast<long>(ns % kSecond)}; }

template <class Table>
auto& of(Table& table, int fd) {
  if (fd < 0 || static_cast<size_t>(fd) >= kDescriptors) {
    std::fprintf(stderr, "simulate: descriptor %d is above the limit of the simulator\n", fd);
    std::abort();
  }
  return table[static_cast<size_t>(fd)];
}

}  // namespace

void install(Kernel* kernel) { installed = kernel; }
Kernel* kernel() { return installed; }

double real_seconds() {
  timespec time{};
  ::syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// A call that would leave virtual time.
[[noreturn]] static void forbidden(const char* function) {
  std::fprintf(stderr, "simulate: %s() inside a simulated world\n", function);
  std::abort();
}

}  // namespace sim

using namespace sim;

// ---- the C++ library ----

namespace std::chrono {
inline namespace _V2 {
steady_clock::time_point steady_clock::now() noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return time_point(duration(Ns{time.tv_sec} * kSecond + time.tv_nsec));
}
system_clock::time_point system_clock::now() noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  return time_point(duration(Ns{time.tv_sec} * kSecond + time.tv_nsec));
}
}  // namespace _V2
}  // namespace std::chrono

unsigned int std::random_device::_M_getval() { return installed ? installed->random() : 4u; }

// ---- the C library ----

extern "C" {

int clock_gettime(clockid_t id, timespec* out) noexcept {
  const bool wall = id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE;
  if (!installed || !(wall || id == CLOCK_MONOTONIC || id == CLOCK_MONOTONIC_COARSE || id == CLOCK_BOOTTIME)) {
    return static_cast<int>(::syscall(SYS_clock_gettime, id, out));
  }
  *out = to_timespec(installed->now() + (wall ? kWallBase + installed->wall_offset() : kMonotonicBase));
  return 0;
}

int timerfd_create(int clock, int flags) noexcept {
  const int fd = static_cast<int>(::syscall(SYS_timerfd_create, clock, flags));
  if (fd >= 0) of(timers, fd) = {true, -1, {}};
  return fd;
}

int epoll_create1(int flags) noexcept {
  const int fd = static_cast<int>(::syscall(SYS_epoll_create1, flags));
  if (fd >= 0) of(reactors, fd) = {};
  return fd;
}

int epoll_ctl(int epoll, int operation, int fd, epoll_event* event) noexcept {
  if (Timer& timer = of(timers, fd); timer.used && event && operation == EPOLL_CTL_ADD && timer.reactor < 0) {
    timer.reactor = epoll;
    of(reactors, epoll) = {event->data, timer.early_due};
  }
  return static_cast<int>(::syscall(SYS_epoll_ctl, epoll, operation, fd, event));
}

int timerfd_settime(int fd, int flags, const itimerspec* to, itimerspec* before) noexcept {
  if (!installed) return static_cast<int>(::syscall(SYS_timerfd_settime, fd, flags, to, before));
  const Ns value = Ns{to->it_value.tv_sec} * kSecond + to->it_value.tv_nsec;
  std::optional<Ns> due;
  // Asio sets an absolute time only to wake its loop at once.
  if (value != 0) due = installed->now() + ((flags & TFD_TIMER_ABSTIME) != 0 ? 0 : value);
  Timer& timer = of(timers, fd);
  (timer.reactor >= 0 ? of(reactors, timer.reactor).due : timer.early_due) = due;
  return 0;
}

int close(int fd) {
  if (fd >= 0 && static_cast<size_t>(fd) < kDescriptors) {
    of(timers, fd) = {};
    of(reactors, fd) = {};
  }
  return static_cast<int>(::syscall(SYS_close, fd));
}

int epoll_wait(int epoll, epoll_event* events, int most, int timeout) {
  const auto real = [&](int limit, int wait) {
    return static_cast<int>(::syscall(SYS_epoll_pwait, epoll, events, limit, wait, nullptr, 8));
  };
  if (!installed) return real(most, timeout);
  Reactor& reactor = of(reactors, epoll);
  int got = 0;
  const auto ready = [&] {
    got = std::max(0, real(most - 1, 0));
    if (reactor.due && installed->now() >= *reactor.due) {
      reactor.due.reset();
      events[got].events = EPOLLIN;
      events[got].data = reactor.timer;
      ++got;
    }
    return got > 0;
  };
  if (ready() || timeout == 0) return got;
  std::optional<Ns> deadline = reactor.due;
  if (timeout > 0) {
    const Ns limit = installed->now() + timeout * kMs;
    deadline = std::min(deadline.value_or(limit), limit);
  }
  installed->wait(ready, deadline);
  if (got == 0) ready();
  return got;
}

int poll(pollfd* fds, nfds_t count, int timeout) {
  const auto real = [&](int wait_ms) {
    const timespec limit = to_timespec(Ns{wait_ms} * kMs);
    return static_cast<int>(::syscall(SYS_ppoll, fds, count, wait_ms < 0 ? nullptr : &limit, nullptr, 8));
  };
  if (!installed) return real(timeout);
  int got = real(0);
  if (got != 0 || timeout == 0) return got;
  std::optional<Ns> deadline;
  if (timeout > 0) deadline = installed->now() + timeout * kMs;
  installed->wait([&] { return (got = real(0)) > 0; }, deadline);
  return std::max(got, 0);
}

int raise(int signal) noexcept {
  if (installed) {
    installed->raised(signal);
    return 0;
  }
  return static_cast<int>(::syscall(SYS_tgkill, ::syscall(SYS_getpid), ::syscall(SYS_gettid), signal));
}

/// A job opens its abstract socket for `dlaunch stacks`; worlds that run at the same time have the same job id.
int bind(int fd, const sockaddr* address, socklen_t size) noexcept {
  if (!installed) return static_cast<int>(::syscall(SYS_bind, fd, address, size));
  errno = EADDRINUSE;
  return -1;
}

int nanosleep(const timespec* time, timespec* left) {
  if (installed) forbidden("nanosleep");
  return static_cast<int>(::syscall(SYS_nanosleep, time, left));
}

int usleep(useconds_t time) {
  const timespec wait = to_timespec(Ns{time} * 1000);
  return ::nanosleep(&wait, nullptr);
}

pid_t fork() noexcept {
  if (installed) forbidden("fork");
  return static_cast<pid_t>(::syscall(SYS_fork));
}

}  // extern "C"
