#include "base/json.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace dlaunch::json {
namespace {

constexpr size_t kShown = 60;  // bytes of a string in a message

void append_escaped(std::string& out, char c) {
  constexpr std::string_view hex = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  switch (c) {
    case '"':
      out += "\\\"";
      return;
    case '\\':
      out += "\\\\";
      return;
    case '\n':
      out += "\\n";
      return;
    default:
      break;
  }
  if (byte >= 0x20 && byte != 0x7f) {
    out += c;
  } else {
    out += std::string("\\u00") + hex[byte >> 4U] + hex[byte & 15U];
  }
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) append_escaped(out, c);
  return out + '"';
}

/// The text, shortened to kShown bytes without splitting a character.
std::string_view shortened(std::string_view text) {
  if (text.size() <= kShown) return text;
  size_t end = kShown;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80) --end;
  return text.substr(0, end);
}

void write(const Json& json, size_t depth, std::string& out);

template <class Each, class Write>
void write_list(const Each& list, std::array<char, 2> brackets, size_t depth, std::string& out, const Write& one) {
  out += brackets[0];
  bool first = true;
  for (const auto& item : list) {
    if (!first) out += ',';
    first = false;
    out += '\n' + std::string(4 * (depth + 1), ' ');
    one(item);
  }
  if (!first) out += '\n' + std::string(4 * depth, ' ');
  out += brackets[1];
}

void write(const Json& json, size_t depth, std::string& out) {
  switch (json.kind) {
    case Json::Kind::null:
      out += "null";
      return;
    case Json::Kind::boolean:
    case Json::Kind::number:
      out += json.text;
      return;
    case Json::Kind::string:
      out += quoted(json.text);
      return;
    case Json::Kind::array:
      write_list(json.items, {'[', ']'}, depth, out, [&](const Json& item) { write(item, depth + 1, out); });
      return;
    case Json::Kind::object:
      write_list(json.members, {'{', '}'}, depth, out, [&](const Json::Member& member) {
        out += quoted(member.key) + ": ";
        write(member.value, depth + 1, out);
      });
  }
}

}  // namespace

Json Json::string(std::string_view text) {
  Json json;
  json.kind = Kind::string;
  json.text = text;
  return json;
}

Json Json::number(long value) {
  Json json;
  json.kind = Kind::number;
  json.text = std::to_string(value);
  return json;
}

Json Json::array() {
  Json json;
  json.kind = Kind::array;
  return json;
}

Json Json::object() {
  Json json;
  json.kind = Kind::object;
  return json;
}

const Json* Json::find(std::string_view key) const {
  const auto found = std::find_if(members.begin(), members.end(), [&](const Member& m) { return m.key == key; });
  return found == members.end() ? nullptr : &found->value;
}

Json& Json::set(std::string_view key, Json value) {
  const auto found = std::find_if(members.begin(), members.end(), [&](const Member& m) { return m.key == key; });
  if (found != members.end()) {
    found->value = std::move(value);
    return found->value;
  }
  return members.emplace_back(Member{std::string(key), std::move(value)}).value;
}

std::optional<long> whole_number(std::string_view text) {
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  if (digits.empty() || (digits.size() > 1 && digits.front() == '0')) return std::nullopt;
  if (!std::all_of(digits.begin(), digits.end(), [](char c) { return c >= '0' && c <= '9'; })) return std::nullopt;
  constexpr long most = 1'000'000'000'000;
  return parse_int(text, -most, most);
}

std::string described(const Json& json) {
  switch (json.kind) {
    case Json::Kind::null:
      return "null";
    case Json::Kind::boolean:
    case Json::Kind::number:
      return json.text;
    case Json::Kind::string: {
      const std::string_view shown = shortened(json.text);
      return quoted(shown) + (shown.size() < json.text.size() ? "…" : "");
    }
    case Json::Kind::array:
      return "[…]";
    case Json::Kind::object:
      break;
  }
  return "{…}";
}

std::string to_text(const Json& json) {
  std::string out;
  write(json, 0, out);
  return out + '\n';
}

}  // namespace dlaunch::json
