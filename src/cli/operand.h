// What a rule about options is about: an option, or one value of it.
#pragma once

#include <string_view>

#include "cli/resolved_options.h"

namespace dlaunch::cli {

struct Operand {
  std::string_view name;
  std::string_view value = {};  ///< empty: any; of --map-by, its unit
};

/// The option in effect where it has this value, else null.
const ParsedOption* holds(const ResolvedOptions& effective, Operand operand);

}  // namespace dlaunch::cli
