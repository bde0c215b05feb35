// Writes and checks texts for JSON Lines, fast: strings and UTF-8. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dlaunch::output {

bool is_utf8(std::string_view bytes);

/// The length of the longest prefix of at most `limit` bytes without a cut UTF-8 character.
std::size_t utf8_cut(std::string_view bytes, std::size_t limit);

/// Appends a JSON string with its quotes. `text` must be UTF-8.
void append_json_string(std::string& to, std::string_view text);

}  // namespace dlaunch::output
