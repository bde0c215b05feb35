#include "sys/clock.h"

#include <ctime>

namespace dlaunch::sys {

std::int64_t wall_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::chrono::nanoseconds suspended() {
  timespec with{};
  timespec without{};
  clock_gettime(CLOCK_MONOTONIC, &without);
  clock_gettime(CLOCK_BOOTTIME, &with);
  return std::chrono::seconds(with.tv_sec - without.tv_sec) + std::chrono::nanoseconds(with.tv_nsec - without.tv_nsec);
}

}  // namespace dlaunch::sys
