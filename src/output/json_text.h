// The parts of a JSON Lines record that must be fast: strings, UTF-8 checks, times. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dlaunch::output {

bool is_utf8(std::string_view bytes);

/// The longest prefix of at most `limit` bytes that does not end within a UTF-8 character.
std::size_t utf8_cut(std::string_view bytes, std::size_t limit);

/// Appends a JSON string with its quotes. `text` must be UTF-8.
void append_json_string(std::string& to, std::string_view text);

}  // namespace dlaunch::output
