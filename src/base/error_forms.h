// The forms of errors about values and options: each kind of error has the same words in every module. PURE.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "dlaunch/error.h"

namespace dlaunch {

/// `invalid KIND "VALUE": expected EXPECTED`
inline Error invalid_value(std::string_view kind, std::string_view value, std::string_view expected,
                           std::string hint = {}) {
  std::string what = "invalid ";
  what.append(kind).append(" \"").append(value).append("\"");
  return {.where = "", .what = std::move(what), .why = "expected " + std::string(expected), .hint = std::move(hint)};
}

/// `A conflicts with B: WHY`; `why` may be empty.
inline Error conflict(std::string_view a, std::string_view b, std::string why,
                      std::string hint = "remove one of the options") {
  std::string what(a);
  what.append(" conflicts with ").append(b);
  return {.where = "", .what = std::move(what), .why = std::move(why), .hint = std::move(hint)};
}

/// `WHAT: WHY`, or `WHAT`: an error as a part of another text.
inline std::string what_and_why(const Error& error) {
  return error.why.empty() ? error.what : error.what + ": " + error.why;
}

/// `A requires B: WHY`; `b` is an option or a condition, `why` may be empty.
inline tl::unexpected<Error> requires_other(std::string_view a, std::string_view b, std::string why = "",
                                            std::string hint = "") {
  std::string what(a);
  what.append(" requires ").append(b);
  return fail({.where = "", .what = std::move(what), .why = std::move(why), .hint = std::move(hint)});
}

}  // namespace dlaunch
