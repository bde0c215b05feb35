// --progress: a regular expression that finds a rank's progress number in a line of output. The time per line is
// bounded: RE2 does not backtrack, and only the first kMostProgressMatches matches are read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "dlaunch/error.h"

namespace dlaunch::cli {

inline constexpr int kMostProgressMatches = 100;  ///< per line

/// Returns a function from a line to the progress in the line: the first whole number in the group of the last match,
/// or in the whole match if the expression has no group. A number after a minus at the start of the group does not
/// count.
Result<std::function<std::optional<std::int64_t>(std::string_view line)>> progress_pattern(std::string_view text);

}  // namespace dlaunch::cli
