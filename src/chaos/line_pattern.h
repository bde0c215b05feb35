// The expression of a fault's @line:/RE/, in RE2's syntax: it takes linear time, whatever a rank writes. PURE.
#pragma once

#include <functional>
#include <string_view>

#include "dlaunch/error.h"

namespace dlaunch::chaos {

/// Whether a line has a match. An Error has RE2's words as its `what`.
Result<std::function<bool(std::string_view line)>> line_pattern(std::string_view text);

}  // namespace dlaunch::chaos
