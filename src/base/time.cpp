#include "base/time.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/text.h"

namespace dlaunch {
namespace {

using std::string_view;

struct Unit {
  string_view name;
  double seconds;
};

constexpr std::array<Unit, 5> kUnits{{{"d", 86400}, {"h", 3600}, {"m", 60}, {"s", 1}, {"ms", 0.001}}};
constexpr long kMostHours = 300'000;

std::optional<std::chrono::milliseconds> milliseconds_of(double seconds) {
  if (!(seconds >= 0 && seconds <= static_cast<double>(kMaxDuration.count()))) return std::nullopt;
  // A rounding error must not add a millisecond: the sum of thirty times 0.001 s may exceed 0.03 s.
  constexpr double kRoundingError = 1e-6;
  const long long rounded = std::llround(std::ceil(seconds * 1000 - kRoundingError));
  return std::chrono::milliseconds(seconds > 0 ? std::max(rounded, 1LL) : 0);  // 0 means never
}

/// "1", "1.5", ".5"
std::optional<double> number(string_view text) {
  if (text.find_first_not_of("0123456789.") != string_view::npos) return std::nullopt;
  double value = 0;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [stop, error] = std::from_chars(begin, end, value, std::chars_format::fixed);
  return error == std::errc{} && stop == end ? std::optional(value) : std::nullopt;
}

/// HH:MM:SS
std::optional<double> clock_seconds(string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() != 3 || parts[0].empty() || parts[1].size() != 2 || parts[2].size() != 2) return std::nullopt;
  const auto hours = parse_int(parts[0], 0, kMostHours);
  const auto minutes = parse_int(parts[1], 0, 59);
  const auto seconds = parse_int(parts[2], 0, 59);
  if (!hours || !minutes || !seconds) return std::nullopt;
  return static_cast<double>(*hours * 3600 + *minutes * 60 + *seconds);
}

/// "1h30m"
std::optional<double> seconds_with_units(string_view text) {
  constexpr string_view kDigits = "0123456789.";
  double sum = 0;
  const Unit* next = kUnits.begin();
  bool decimals = false;
  while (!text.empty()) {
    const size_t digits = std::min(text.find_first_not_of(kDigits), text.size());
    const auto value = number(text.substr(0, digits));
    if (!value || decimals) return std::nullopt;
    decimals = text.substr(0, digits).find('.') != string_view::npos;
    text.remove_prefix(digits);
    const string_view name = text.substr(0, text.find_first_of(kDigits));
    while (next != kUnits.end() && next->name != name) ++next;
    if (next == kUnits.end()) return std::nullopt;
    sum += *value * next->seconds;
    ++next;
    text.remove_prefix(name.size());
  }
  return sum;
}

}  // namespace

std::optional<std::chrono::milliseconds> parse_duration(string_view text) {
  if (text.empty()) return std::nullopt;
  if (text.find(':') != string_view::npos) {
    const auto seconds = clock_seconds(text);
    return seconds ? milliseconds_of(*seconds) : std::nullopt;
  }
  const auto plain = number(text);
  const auto seconds = plain ? plain : seconds_with_units(text);
  return seconds ? milliseconds_of(*seconds) : std::nullopt;
}

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
