// A JSON tree with the position of each value, so that a finding can name its line and column. Members keep their
// order: a rewritten text differs only in the changed values. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch::json {

/// Limits far above every rank table; a larger text is rejected.
inline constexpr int kDeepest = 32;
inline constexpr size_t kMostValues = 1'000'000;
inline constexpr size_t kLongestNumber = 40;

struct Json {
  enum class Kind { null, boolean, number, string, array, object };
  struct Member;

  Kind kind = Kind::null;
  std::string text;             ///< a string's content in UTF-8; a number, true or false as written
  std::vector<Json> items;      ///< of an array
  std::vector<Member> members;  ///< of an object; keys are unique
  int line = 0;                 ///< position in the text, from 1; 0 for a value that was not parsed
  int column = 0;               ///< in bytes, from 1

  static Json string(std::string_view text);
  static Json number(long value);
  static Json array();
  static Json object();

  bool is(Kind wanted) const { return kind == wanted; }
  const Json* find(std::string_view key) const;
  /// Sets the member; appends a missing member.
  Json& set(std::string_view key, Json value);
};

struct Json::Member {
  std::string key;
  Json value;
};

/// Parses a whole number of JSON: no fraction, no exponent, no leading zero.
std::optional<long> whole_number(std::string_view text);

/// The value for messages, at most one printable line: 3, "x", null, […], {…}.
std::string described(const Json& json);

/// Parses strict JSON: no comments, no duplicate key in an object, valid UTF-8, no text after the value. An Error's
/// `where` is "name:line:column".
Result<Json> parse_json(std::string_view text, const std::string& name);

/// Writes the text as Python's json.dump(…, indent=4), with a newline at the end.
std::string to_text(const Json& json);

}  // namespace dlaunch::json
