// Durations as people write them: 90, 0.5, 90s, 5m, 1h30m, 2d, 200ms, 00:05:00. PURE.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

namespace dlaunch {

/// The longest duration that parse_duration() accepts: more than 30 years.
inline constexpr std::chrono::seconds kMaxDuration{1'000'000'000};

/// The formats for an error message.
inline constexpr const char* kDurationFormats = "90, 0.5, 90s, 5m, 1h30m or 00:05:00";

/// Parses seconds without a unit, or numbers with the units d, h, m, s and ms, the largest unit first, or HH:MM:SS.
/// The last number may have decimals, except in HH:MM:SS. Rounds up to a millisecond. Returns nullopt for any other
/// text, for a negative duration, and for more than kMaxDuration.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text);

}  // namespace dlaunch
