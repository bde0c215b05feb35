// An option, or one value of an option, in a rule about options.
#pragma once

#include <string>
#include <string_view>

#include "cli/resolved_options.h"

namespace dlaunch::cli {

struct Operand {
  std::string_view name;
  std::string_view value = {};  ///< empty: any value; for --map-by the unit
};

/// Parses NAME or NAME=VALUE; `word` must outlive the result.
Operand operand_in(std::string_view word);
/// Returns the option in effect if its value matches, else null.
const ParsedOption* holds(const ResolvedOptions& effective, Operand operand);
/// The option as typed, with the value of the operand.
std::string describe(const ParsedOption& given, Operand operand);

}  // namespace dlaunch::cli
