// Translates options of mpirun, Hydra and PALS to dlaunch's own options, after the command line is parsed. PURE, except
// for files named by options.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/option_spec.h"
#include "dlaunch/error.h"
#include "grammars/arguments.h"

namespace dlaunch::cli {

/// The option `name` of option_table(), with the spelling of `given`.
ParsedOption own_option(const ParsedOption& given, std::string_view name, std::string value);

/// The option of OptionSpec::stands_for in `given`'s row: "map-by=node", "ranks={}".
ParsedOption what_it_stands_for(const ParsedOption& given);

/// Replaces the foreign options in the groups by options of option_table().
Result<void> translate_options(std::vector<Group>& groups, const ProcessContext& context,
                               std::vector<std::string>& notes);

}  // namespace dlaunch::cli
