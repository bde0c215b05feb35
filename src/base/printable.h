// Text of others (ranks, hosts, paths) made safe to show on a terminal. PURE.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dlaunch {

/// Valid UTF-8 and tabs stay; colours are dropped; every other control character and every byte that is not UTF-8
/// becomes \xNN, so that no text can move the cursor, retitle the window or answer for the user.
std::string printable(std::string_view text);

/// A word as it was given, for an error or a table: as printable(), but nothing is dropped, and a newline and a tab are
/// \n and \t.
std::string escaped(std::string_view text);

/// Lines of which each is printable(); the newlines between them are those of the text.
std::string printable_lines(std::string_view text);

/// JSON of which every character that is not printable is escaped as JSON has it, so that it means the same.
std::string printable_json(std::string_view json);

inline constexpr std::size_t kLongestMessage = 4096;  ///< bytes of a text that message() shows

/// What dlaunch says on stderr of a text, whoever wrote it: "dlaunch: BEFORE" and its first line. Its other lines are
/// indented, so that none can pass for a message of its own; of a long text it shows the beginning, and says so.
std::string message(std::string_view before, std::string_view text);

}  // namespace dlaunch
