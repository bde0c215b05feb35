// Text of others (ranks, hosts, paths) made safe to show on a terminal. PURE.
#pragma once

#include <string>
#include <string_view>

namespace dlaunch::report {

/// Valid UTF-8 and tabs stay; colours are dropped; every other control character and every byte that is not UTF-8
/// becomes \xNN, so that no text can move the cursor, retitle the window or answer for the user.
std::string printable(std::string_view text);

}  // namespace dlaunch::report
