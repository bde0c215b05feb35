// Text with {fields}, for --label, --output-filename and --rank-dir. "{{" is a literal brace. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch {

/// Literal text, or the name of a field if `field` is not empty.
struct Piece {
  std::string text;
  std::string field;
};

/// `where` is the name of the option, for the error.
Result<std::vector<Piece>> parse_template(std::string_view text, const std::vector<std::string>& fields,
                                          std::string_view where);

bool has_field(const std::vector<Piece>& pieces, std::string_view field);

}  // namespace dlaunch
