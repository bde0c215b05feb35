// Text of others (ranks, hosts, paths) made safe to show on a terminal. PURE.
#pragma once

#include <string>
#include <string_view>

namespace dlaunch {

/// Valid UTF-8 and tabs stay; colours are dropped; every other control character and every byte that is not UTF-8
/// becomes \xNN, so that no text can move the cursor, retitle the window or answer for the user.
std::string printable(std::string_view text);

/// A word as it was given, for an error or a table: as printable(), but nothing is dropped, and a newline and a tab are
/// \n and \t.
std::string escaped(std::string_view text);

}  // namespace dlaunch
