#include "base/printable.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "base/text.h"

namespace dlaunch {
namespace {

constexpr char kEscape = '\x1b';

/// The number of bytes of the colour sequence (ESC [ digits m) at the start of `text`; 0: no such sequence.
size_t colour_size(std::string_view text) {
  if (text.size() < 3 || text[0] != kEscape || text[1] != '[') return 0;
  const size_t end = text.find_first_not_of("0123456789;:", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

/// Invisible characters that move or reorder other characters: line and paragraph separators, and overrides of the
/// writing direction.
bool moves_others(std::uint32_t code) {
  return code == 0x061c || code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

struct Character {
  std::uint32_t code = 0;
  size_t size = 0;  ///< bytes; 0: malformed
};

/// The UTF-8 character at the start of `text`. Overlong forms and surrogates are malformed.
Character first_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return {first, 1};
  const size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) return {};
  std::uint32_t code = first & (0xffu >> (size + 1));
  for (size_t i = 1; i < size; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) return {};
    code = code << 6 | (byte & 0x3fu);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool malformed = code < kLeast[size] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000);
  return malformed ? Character{} : Character{code, size};
}

/// Returns true for a visible character that does not move others. U+0080 starts a second set of control characters.
bool is_showable(std::uint32_t code) {
  return code == '\t' || (code >= 0x20 && code < 0x7f) || (code >= 0xa0 && !moves_others(code));
}

void append_hex(std::string& out, char byte) {
  constexpr char kDigits[] = "0123456789abcdef";
  const auto value = static_cast<unsigned char>(byte);
  out += "\\x";
  out += kDigits[value >> 4];
  out += kDigits[value & 0xf];
}

/// Appends the character at the start of `text`, or its first byte as \xNN. Returns the number of bytes used.
size_t append_shown(std::string& out, std::string_view text) {
  const Character character = first_character(text);
  if (character.size == 0 || !is_showable(character.code)) {
    append_hex(out, text[0]);
    return 1;
  }
  out += text.substr(0, character.size);
  return character.size;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    size_t size = colour_size(text);
    if (size == 0) size = append_shown(out, text);
    text.remove_prefix(size);
  }
  return out;
}

std::string escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t known = std::string_view("\n\r\t").find(text[0]);
    if (known != std::string_view::npos) {
      out += std::string_view("\\n\\r\\t").substr(2 * known, 2);
      text.remove_prefix(1);
    } else {
      text.remove_prefix(append_shown(out, text));
    }
  }
  return out;
}

std::string xml(std::string_view text) {
  std::string result;
  for (const char c : escaped(text)) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string printable_lines(std::string_view text) {
  std::string out;
  for (size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    out += printable(text.substr(0, end)) + '\n';
    text.remove_prefix(end + 1);
  }
  return out + printable(text);
}

/// Outside of strings JSON is ASCII, and inside of strings every character below U+0020 is escaped.
std::string printable_json(std::string_view json) {
  std::string out;
  while (!json.empty()) {
    const Character character = first_character(json);
    const size_t size = std::max<size_t>(1, character.size);
    if (character.code == 0x7f || (character.code >= 0x80 && !is_showable(character.code))) {
      char text[8];
      std::snprintf(text, sizeof text, "\\u%04x", static_cast<unsigned>(character.code));
      out += text;
    } else {
      out += json.substr(0, size);
    }
    json.remove_prefix(size);
  }
  return out;
}

std::string message(std::string_view before, std::string_view text) {
  while (text.ends_with('\n')) text.remove_suffix(1);
  std::string_view shown = text.substr(0, kLongestMessage);
  // A character at the limit is dropped as a whole.
  while (shown.size() < text.size() && !shown.empty() &&
         (static_cast<unsigned char>(text[shown.size()]) & 0xc0) == 0x80)
    shown.remove_suffix(1);
  std::string out;
  for (const std::string& line : split(shown, '\n')) {
    out += "dlaunch: " + (out.empty() ? printable(before) : std::string("  ")) + printable(line) + '\n';
  }
  if (shown.size() == text.size()) return out;
  out.back() = ' ';
  return out + "… " + std::to_string(text.size() - shown.size()) + " more bytes\n";
}

}  // namespace dlaunch
