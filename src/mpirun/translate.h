// Translates options of mpirun, Hydra and PALS to dlaunch's own options, after the command line is parsed. PURE, except
// for files named by options.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/option_spec.h"
#include "dlaunch/error.h"
#include "mpirun/arguments.h"

namespace dlaunch::cli {

/// The option `name` of option_table(), with the spelling of `given`.
ParsedOption own_option(const ParsedOption& given, std::string_view name, std::string value);

/// The option of OptionSpec::stands_for in `given`'s row: "map-by=node", "ranks={}".
ParsedOption what_it_stands_for(const ParsedOption& given);

/// Replaces the foreign options in the groups by options of option_table().
Result<void> translate_options(std::vector<Group>& groups, const ProcessContext& context,
                               std::vector<std::string>& notes);

// Translates options of Hydra and of HPE's PALS: OptionSpec::translate of their rows. PURE.

/// Whether `name` is an option of Hydra or PALS in foreign_table(), and not of Open MPI.
bool is_word_of_hydra(std::string_view name);

/// Adds a note: the option changes nothing.
void note_of(const ParsedOption& given, std::string_view why, Translated& made);

/// -launcher and -bootstrap: the transport, which dlaunch chooses itself.
Result<void> hydra_launcher(const ParsedOption& given, const ProcessContext& context, Translated& made);
/// -rmk: the batch system, which dlaunch detects.
Result<void> hydra_manager(const ParsedOption& given, const ProcessContext& context, Translated& made);
/// -bind-to, and -binding with its older values. "user:0+2,1" binds the first rank to threads 0 and 2, the second to
/// thread 1; "core:2" binds each rank to two cores.
Result<void> hydra_binding(const ParsedOption& given, const ProcessContext& context, Translated& made);
/// Whether the option is --bind-to with a value that only Hydra accepts.
bool is_hydra_bind_to(const ParsedOption& given);
/// --cpu-bind depth, list:0-3:4-7, core, numa or none, with an optional prefix "verbose,".
Result<void> pals_binding(const ParsedOption& given, const ProcessContext& context, Translated& made);
/// -d N and --depth N: hardware threads per rank. Without a number, -d is Open MPI's option for debugging.
Result<void> pals_depth(const ParsedOption& given, const ProcessContext& context, Translated& made);

}  // namespace dlaunch::cli
