#include "stacks/value_hash.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::stacks {
namespace {

// Offsets in an object. The content of an int is its size and digits, of a float its value, of a list its size and the
// address of its items, of a dict its size and version.
constexpr std::uint64_t kTypeName = 24;
constexpr std::uint64_t kContent = 16;

// In PyDictObject, and in PyDictKeysObject since 3.11.
constexpr std::uint64_t kKeys = 32;
constexpr std::uint64_t kLog2OfIndexBytes = 9;
constexpr std::uint64_t kKeysKind = 10;
constexpr std::uint64_t kEntryCount = 24;
constexpr std::uint64_t kIndices = 32;
constexpr std::uint64_t kMostEntries = 4096;
constexpr std::size_t kLooksAtLast = 256;  // limit of entries: a script's variables follow its imports

}  // namespace

void ValueHash::add_variable(std::uint64_t value) { add_value(value, 1); }

void ValueHash::add_value(std::uint64_t value, int cells) {
  add(value);
  if (value == 0 || ++looked_into_ > kMostLookedInto) return;
  const std::uint64_t object = value & ~kPointerTag;
  std::array<std::uint64_t, 3> head{};  // the type of the object, then two words
  if (!read_(object + kObjectType, {reinterpret_cast<char*>(head.data()), sizeof head})) return;
  switch (kind_of(head[0])) {
    case Kind::other:
      return;
    case Kind::cell:
      if (cells > 0) add_value(head[1], cells - 1);
      return;
    case Kind::two_words:
      add(head[2]);
      [[fallthrough]];
    case Kind::one_word:
      add(head[1]);
  }
}

ValueHash::Kind ValueHash::kind_of(std::uint64_t type) {
  if (const auto known = kinds_.find(type); known != kinds_.end()) return known->second;
  const auto name = value_at<std::uint64_t>(read_, type + kTypeName);
  const std::string text = name ? bytes_at(read_, *name, sizeof "float") : "";
  const auto is = [&](std::string_view wanted) { return text.starts_with(std::string(wanted) + '\0'); };
  Kind kind = Kind::other;
  if (is("float")) kind = Kind::one_word;
  if (is("int") || is("list") || is("dict")) kind = Kind::two_words;
  if (is("cell")) kind = Kind::cell;
  return kinds_.emplace(type, kind).first->second;
}

/// Up to 3.12 a dict has a version, which changes with each change of the dict.
void ValueHash::add_names(std::uint64_t dict) {
  add(dict);
  std::array<std::uint64_t, 2> content{};
  if (!read_(dict + kContent, {reinterpret_cast<char*>(content.data()), sizeof content})) return;
  add(content[0]);
  add(content[1]);
  if (!layout_.dicts_have_versions) add_entries(dict);
}

void ValueHash::add_entries(std::uint64_t dict) {
  const auto keys = value_at<std::uint64_t>(read_, dict + kKeys);
  const auto log2 = keys ? value_at<std::uint8_t>(read_, *keys + kLog2OfIndexBytes) : std::nullopt;
  const auto kind = keys ? value_at<std::uint8_t>(read_, *keys + kKeysKind) : std::nullopt;
  const auto count = keys ? value_at<std::uint64_t>(read_, *keys + kEntryCount) : std::nullopt;
  if (!log2 || !kind || !count || *log2 > 32) return;
  const std::size_t words = *kind == 0 ? 3 : 2;  // with its hash if the keys are not strings; key, value
  std::vector<std::uint64_t> entries(std::min(*count, kMostEntries) * words);
  const std::uint64_t first = *keys + kIndices + (std::uint64_t{1} << *log2);
  if (!read_(first, {reinterpret_cast<char*>(entries.data()), entries.size() * sizeof(std::uint64_t)})) return;
  const std::size_t size = entries.size() / words;
  for (std::size_t i = 0; i < size; ++i) {
    const std::uint64_t value = entries[i * words + words - 1];
    i + kLooksAtLast < size ? add(value) : add_variable(value);
  }
}

}  // namespace dlaunch::stacks
