#include "sys/clock.h"

#include <ctime>

namespace dlaunch::sys {

std::int64_t wall_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

}  // namespace dlaunch::sys
