// Makes text of other sources (ranks, hosts, paths) safe for a terminal. PURE.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dlaunch {

/// Keeps valid UTF-8 and tabs, drops colours. Every other control character, and every byte that is not UTF-8, becomes
/// \xNN. So the text cannot move the cursor, change the title of the window, or answer as if the user typed.
std::string printable(std::string_view text);

/// A word for an error or a table: like printable(), but keeps every byte; newline and tab become \n and \t.
std::string escaped(std::string_view text);

/// escaped(), for the text or an attribute of an XML document.
std::string xml(std::string_view text);

/// Applies printable() to each line. Keeps the newlines.
std::string printable_lines(std::string_view text);

/// JSON with every unprintable character in JSON's own escape form, so that its meaning is the same.
std::string printable_json(std::string_view json);

inline constexpr std::size_t kLongestMessage = 4096;  ///< limit of shown bytes in message()

/// A message of dlaunch on stderr: "dlaunch: BEFORE" and the first line of `text`. Further lines are indented, so that
/// they cannot look like a separate message. A long text is cut, with a remark.
std::string message(std::string_view before, std::string_view text);

}  // namespace dlaunch
