// The clock of every wait, limit and duration. Changes of the wall clock do not affect this clock.
#pragma once

#include <algorithm>
#include <chrono>
#include <climits>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dlaunch {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;
using Duration = Clock::duration;

/// A timeout for poll(2): rounded up; 0 if the time has passed.
inline int milliseconds_until(Time deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<decltype(left)>(left, 0, INT_MAX));
}

// Durations as people write them (90, 0.5, 90s, 5m, 1h30m, 2d, 200ms, 00:05:00), and points in time in the form of RFC
// 3339. PURE.

/// The longest duration that parse_duration() accepts: more than 30 years.
inline constexpr std::chrono::seconds kMaxDuration{1'000'000'000};

/// The formats for an error message.
inline constexpr const char* kDurationFormats = "90, 0.5, 90s, 5m, 1h30m or 00:05:00";

/// Parses seconds without a unit, or numbers with the units d, h, m, s and ms, the largest unit first, or HH:MM:SS.
/// The last number may have decimals, except in HH:MM:SS. Rounds up to a millisecond. Returns nullopt for any other
/// text, for a negative duration, and for more than kMaxDuration.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

/// In UTC with microseconds: "2025-01-31T23:59:59.000123Z".
std::string rfc3339(std::int64_t realtime_ns);

/// Parses the output of rfc3339(). Returns nullopt for any other text.
std::optional<std::int64_t> parse_rfc3339(const std::string& text);

}  // namespace dlaunch
