// Makes text from others (ranks, hosts, paths) safe to show on a terminal. PURE.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dlaunch {

/// Valid UTF-8 and tabs stay; colours are dropped; every other control character and every byte that is not UTF-8
/// becomes \xNN, so that no text can move the cursor, retitle the window or send an answer as if the user typed it.
std::string printable(std::string_view text);

/// A word for an error or a table: as printable(), but nothing is dropped, and newline and tab become \n and \t.
std::string escaped(std::string_view text);

/// Applies printable() to each line and keeps the newlines.
std::string printable_lines(std::string_view text);

/// JSON in which every character that is not printable is escaped as JSON has it, so that its meaning stays.
std::string printable_json(std::string_view json);

inline constexpr std::size_t kLongestMessage = 4096;  ///< bytes that message() shows

/// A message of dlaunch's on stderr: "dlaunch: BEFORE" and the first line of `text`. The other lines are indented, so
/// that none can pass for a message of its own. A long text is cut, and the message says so.
std::string message(std::string_view before, std::string_view text);

}  // namespace dlaunch
