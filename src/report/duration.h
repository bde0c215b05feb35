// Readable numbers and durations. PURE.
#pragma once

#include <string>

#include "base/time.h"

namespace dlaunch::report {

/// Formats a double with a printf(3) format; at most 31 characters.
std::string formatted(const char* format, double number);

/// "0.03 s", "12.4 s", "3 min 5 s", "2 h 7 min".
std::string duration_text(Duration duration);

}  // namespace dlaunch::report
