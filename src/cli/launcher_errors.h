// Errors about options of another launcher that conflict with, or require, another option. PURE.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "cli/option_spec.h"
#include "dlaunch/error.h"

namespace dlaunch::cli {

/// "--tee conflicts with --redirects: why". `why` may be empty.
inline tl::unexpected<Error> refuse_conflict(const ParsedOption& given, std::string_view other, std::string why,
                                             std::string hint) {
  std::string what = given.spelled + " conflicts with ";
  what.append(other);
  return fail({.where = "", .what = std::move(what), .why = std::move(why), .hint = std::move(hint)});
}

/// "--no-python requires --use-env: why". `requirement` is an option or a condition; `why` may be empty.
inline tl::unexpected<Error> refuse_without(const ParsedOption& given, std::string_view requirement, std::string why,
                                            std::string hint) {
  std::string what = given.spelled + " requires ";
  what.append(requirement);
  return fail({.where = "", .what = std::move(what), .why = std::move(why), .hint = std::move(hint)});
}

}  // namespace dlaunch::cli
