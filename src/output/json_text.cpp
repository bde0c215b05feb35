#include "output/json_text.h"

namespace dlaunch::output {
namespace {

using Byte = unsigned char;

bool is_continuation(char c) { return (static_cast<Byte>(c) & 0xC0U) == 0x80; }

/// Length of the first character of `bytes`; 0 if invalid (overlong, surrogate, beyond U+10FFFF, cut).
std::size_t character_length(std::string_view bytes) {
  const auto lead = static_cast<Byte>(bytes[0]);
  const std::size_t length = lead < 0x80   ? 1
                             : lead < 0xC2 ? 0
                             : lead < 0xE0 ? 2
                             : lead < 0xF0 ? 3
                             : lead < 0xF5 ? 4
                                           : 0;
  if (length == 0 || bytes.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(bytes[i])) return 0;
  }
  const auto second = length > 1 ? static_cast<Byte>(bytes[1]) : Byte{0};
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool beyond = (lead == 0xED && second >= 0xA0) || (lead == 0xF4 && second >= 0x90);
  return overlong || beyond ? 0 : length;
}

void append_escape(std::string& to, char c) {
  switch (c) {
    case '"':
      to += "\\\"";
      return;
    case '\\':
      to += "\\\\";
      return;
    case '\n':
      to += "\\n";
      return;
    case '\r':
      to += "\\r";
      return;
    case '\t':
      to += "\\t";
      return;
    default:
      break;
  }
  constexpr std::string_view kHex = "0123456789abcdef";
  to += "\\u00";
  to += kHex[static_cast<Byte>(c) >> 4U];
  to += kHex[static_cast<Byte>(c) & 15U];
}

bool needs_escape(char c) { return static_cast<Byte>(c) < 0x20 || c == '"' || c == '\\' || c == 0x7F; }

constexpr std::size_t kBlock = 16;  // constant, so that the compiler vectorizes the loop

bool plain_block(const char* bytes) {
  unsigned char odd = 0;
  for (std::size_t i = 0; i < kBlock; ++i) {
    const auto c = static_cast<Byte>(bytes[i]);
    odd = static_cast<Byte>(odd | (c < 0x20) | (c == '"') | (c == '\\') | (c >= 0x7F));
  }
  return odd == 0;
}

/// Length of the prefix of `bytes` that is ASCII without characters to escape, rounded down to blocks.
std::size_t plain_front(std::string_view bytes) {
  std::size_t length = 0;
  while (length + kBlock <= bytes.size() && plain_block(bytes.data() + length)) length += kBlock;
  return length;
}

}  // namespace

bool is_utf8(std::string_view bytes) {
  for (std::size_t i = 0; i < bytes.size();) {
    i += plain_front(bytes.substr(i));
    while (i < bytes.size() && static_cast<Byte>(bytes[i]) < 0x80) ++i;
    if (i == bytes.size()) break;
    const std::size_t length = character_length(bytes.substr(i));
    if (length == 0) return false;
    i += length;
  }
  return true;
}

std::size_t utf8_cut(std::string_view bytes, std::size_t limit) {
  if (bytes.size() <= limit) return bytes.size();
  constexpr std::size_t kMaxCharacter = 4;
  std::size_t cut = limit;
  while (cut > 0 && limit - cut < kMaxCharacter && is_continuation(bytes[cut])) --cut;
  return is_continuation(bytes[cut]) ? limit : cut;
}

void append_json_string(std::string& to, std::string_view text) {
  to += '"';
  std::size_t plain = 0;
  for (std::size_t i = plain_front(text); i < text.size(); ++i) {
    if (!needs_escape(text[i])) continue;
    to += text.substr(plain, i - plain);
    append_escape(to, text[i]);
    plain = i + 1;
  }
  to += text.substr(plain);
  to += '"';
}

}  // namespace dlaunch::output
