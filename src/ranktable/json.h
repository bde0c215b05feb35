// A JSON text as a tree that knows the position of each value, so that a finding can name its line and column. Members
// keep their order, so that a text that is written back differs only where it was changed. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch::ranktable {

/// Limits that no rank table comes near; a larger text is refused.
inline constexpr int kDeepest = 32;
inline constexpr size_t kMostValues = 1'000'000;
inline constexpr size_t kLongestNumber = 40;

struct Json {
  enum class Kind { null, boolean, number, string, array, object };
  struct Member;

  Kind kind = Kind::null;
  std::string text;             ///< a string's content in UTF-8; a number, true or false as written
  std::vector<Json> items;      ///< of an array
  std::vector<Member> members;  ///< of an object; no key twice
  int line = 0;                 ///< position in the text, from 1; 0 for a value that was not read
  int column = 0;               ///< in bytes, from 1

  static Json string(std::string_view text);
  static Json number(long value);
  static Json array();
  static Json object();

  bool is(Kind wanted) const { return kind == wanted; }
  const Json* find(std::string_view key) const;
  /// The member, which is appended when it is missing.
  Json& set(std::string_view key, Json value);
};

struct Json::Member {
  std::string key;
  Json value;
};

/// Parses a whole number as JSON has it: no fraction, no exponent, no leading zero.
std::optional<long> whole_number(std::string_view text);

/// "an object", "the number 3", "the string "x"": for messages, at most a line and printable.
std::string described(const Json& json);

/// Parses strict JSON: no comments, no repeated key in an object, valid UTF-8, nothing after the value. An Error's
/// `where` is "name:line:column".
Result<Json> parse_json(std::string_view text, const std::string& name);

/// Writes the text as Python's json.dump(…, indent=4) does, ending in a newline.
std::string to_text(const Json& json);

}  // namespace dlaunch::ranktable
