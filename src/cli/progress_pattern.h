// --progress: a regular expression that finds a rank's progress, a number, in a line of its output. What a line costs
// is bounded, whatever stands in it: RE2 never goes back, and of many matches only the first ones are looked at.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "dlaunch/error.h"

namespace dlaunch::cli {

inline constexpr int kMostProgressMatches = 100;  ///< of a line

/// What gives the progress that a line tells: of its last match the first whole number in the group, where the
/// expression has one, else in all of the match. A group that begins with a minus has none.
Result<std::function<std::optional<std::int64_t>(std::string_view line)>> progress_pattern(std::string_view text);

}  // namespace dlaunch::cli
