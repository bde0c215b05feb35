#include "sys/clock.h"

#include <ctime>

namespace dlaunch::sys {

std::int64_t wall_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::uint64_t cpu_ns(pid_t pid) {
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(pid, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return 0;
  return static_cast<std::uint64_t>(used.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(used.tv_nsec);
}

std::chrono::nanoseconds suspended() {
  timespec with{};
  timespec without{};
  clock_gettime(CLOCK_MONOTONIC, &without);
  clock_gettime(CLOCK_BOOTTIME, &with);
  return std::chrono::seconds(with.tv_sec - without.tv_sec) + std::chrono::nanoseconds(with.tv_nsec - without.tv_nsec);
}

}  // namespace dlaunch::sys
