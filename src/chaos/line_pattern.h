// The expression in @line:/RE/ of a fault, in RE2's syntax: linear time for any line. PURE.
#pragma once

#include <functional>
#include <string_view>

#include "dlaunch/error.h"

namespace dlaunch::chaos {

/// Returns true if a line has a match. `what` of an Error is the text of RE2.
Result<std::function<bool(std::string_view line)>> line_pattern(std::string_view text);

}  // namespace dlaunch::chaos
