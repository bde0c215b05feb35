#include "base/rfc3339.h"

#include <chrono>
#include <cstdio>

namespace dlaunch {

namespace chrono = std::chrono;

std::string rfc3339(std::int64_t realtime_ns) {
  const chrono::sys_time<chrono::microseconds> time{
      chrono::floor<chrono::microseconds>(chrono::nanoseconds(realtime_ns))};
  const auto day = chrono::floor<chrono::days>(time);
  const chrono::year_month_day date(day);
  const chrono::hh_mm_ss clock(time - day);
  char text[48];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02ld:%02ld:%02ld.%06ldZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                clock.minutes().count(), clock.seconds().count(), clock.subseconds().count());
  return text;
}

std::optional<std::int64_t> parse_rfc3339(const std::string& text) {
  int year = 0;
  unsigned month = 0, day = 0;
  long hours = 0, minutes = 0, seconds = 0, micros = 0;
  if (std::sscanf(text.c_str(), "%4d-%2u-%2uT%2ld:%2ld:%2ld.%6ldZ", &year, &month, &day, &hours, &minutes, &seconds,
                  &micros) != 7) {
    return std::nullopt;
  }
  const chrono::sys_days date = chrono::year(year) / chrono::month(month) / chrono::day(day);
  const auto time =
      date + chrono::hours(hours) + chrono::minutes(minutes) + chrono::seconds(seconds) + chrono::microseconds(micros);
  const std::int64_t ns = chrono::nanoseconds(time.time_since_epoch()).count();
  return rfc3339(ns) == text ? std::optional(ns) : std::nullopt;
}

}  // namespace dlaunch
