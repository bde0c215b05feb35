// A JSON text as a tree that knows where each value stood, so that a finding can name its line and column; members keep
// their order, so that what is written back differs only where it was changed. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch::ranktable {

/// More than any rank table needs; a text beyond them is refused.
inline constexpr int kDeepest = 32;
inline constexpr size_t kMostValues = 1'000'000;
inline constexpr size_t kLongestNumber = 40;

struct Json {
  enum class Kind { null, boolean, number, string, array, object };
  struct Member;

  Kind kind = Kind::null;
  std::string text;             ///< a string's content in UTF-8; a number, true or false as it stands
  std::vector<Json> items;      ///< of an array
  std::vector<Member> members;  ///< of an object; no key twice
  int line = 0;                 ///< where it stood, from 1; 0 for a value that was not read
  int column = 0;               ///< in bytes, from 1

  static Json string(std::string_view text);
  static Json number(long value);
  static Json array();
  static Json object();

  bool is(Kind wanted) const { return kind == wanted; }
  const Json* find(std::string_view key) const;
  /// The member, made at the end when it is not there.
  Json& set(std::string_view key, Json value);
};

struct Json::Member {
  std::string key;
  Json value;
};

/// A whole number as JSON writes it: no fraction, no exponent, no zero in front.
std::optional<long> whole_number(std::string_view text);

/// "an object", "the number 3", "the string "x"": for messages; no longer than a line and safe to show.
std::string described(const Json& json);

/// Strict JSON (no comments, no key twice in an object, valid UTF-8, nothing behind it); an Error with
/// `where` "name:line:column" for anything else.
Result<Json> parse_json(std::string_view text, const std::string& name);

/// Indented by four, as Python's json.dump(…, indent=4) writes it, ending in a newline.
std::string to_text(const Json& json);

}  // namespace dlaunch::ranktable
