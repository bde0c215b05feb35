#include "launcher/host_clock.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "sys/clock.h"

namespace dlaunch::launcher {
namespace {

constexpr std::int64_t kLastTime = std::int64_t{1} << 62;  // in the year 2116; sums with other times do not overflow

std::int64_t nanoseconds(Duration duration) { return std::chrono::nanoseconds(duration).count(); }

}  // namespace

void ClockReadings::answered(std::int64_t host_ns, Time now) {
  const auto asked = std::exchange(asked_, std::nullopt);
  if (!asked) return;
  const Duration half = (now - *asked) / 2;
  const std::int64_t here = nanoseconds((*asked + half).time_since_epoch());
  const job::HostClock clock{std::clamp<std::int64_t>(host_ns, 0, kLastTime) - here, nanoseconds(half)};
  std::erase_if(readings_, [&](const Reading& old) {
    const std::int64_t change = old.clock.offset_ns - clock.offset_ns;
    return std::max(change, -change) > aged(old, now).error_ns + clock.error_ns;
  });
  if (readings_.size() == kKept) readings_.pop_front();
  readings_.push_back({now, clock});
}

job::HostClock ClockReadings::at(Time now) const {
  if (readings_.empty()) return {0, std::numeric_limits<std::int64_t>::max()};
  const auto error = [&](const Reading& reading) { return aged(reading, now).error_ns; };
  return aged(*std::ranges::min_element(readings_, {}, error), now);
}

job::HostClock ClockReadings::aged(const Reading& reading, Time now) {
  return {reading.clock.offset_ns, reading.clock.error_ns + nanoseconds(now - reading.time) / kDrift};
}

job::HostClock own_clock() {
  ClockReadings readings;
  readings.asked(Clock::now());
  const std::int64_t time = sys::wall_ns();
  const Time now = Clock::now();
  readings.answered(time, now);
  return readings.at(now);
}

}  // namespace dlaunch::launcher
