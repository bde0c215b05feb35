// The options that dlaunch's own grammar accepts: the options of dlaunch, of mpirun and Hydra, and some of other
// launchers. PURE.
#pragma once

#include <span>
#include <string_view>

#include "cli/option_spec.h"

namespace dlaunch::cli {

/// Options of mpirun and Hydra. translate_options() replaces them by options of option_table(). The help omits them.
std::span<const OptionSpec> foreign_table();
std::span<const FoundOption> foreign_names();

/// Finds a row of option_table() or foreign_table(). `name` has no dashes.
FoundOption find_known_option(std::string_view name);

/// As find_known_option(), and finds rows of familiar_table(). Also accepts '_' for '-' in `name`.
FoundOption find_typed_option(std::string_view name);

}  // namespace dlaunch::cli
