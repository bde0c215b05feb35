// An option, or one value of an option, in a rule about options.
#pragma once

#include <string_view>

#include "cli/resolved_options.h"

namespace dlaunch::cli {

struct Operand {
  std::string_view name;
  std::string_view value = {};  ///< empty: any value; for --map-by the unit
};

/// Returns the option in effect if its value matches, else null.
const ParsedOption* holds(const ResolvedOptions& effective, Operand operand);

}  // namespace dlaunch::cli
