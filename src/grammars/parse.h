// Converts a command line of any grammar to Options. Reads only the parameters and the files that they name.
//
// The value of an option comes from the first of: the command line; DLAUNCH_<NAME>; the config file; the default. The
// last of repeated options wins, except that -x and --env-file accumulate. -x, --env-file and --wdir before the first
// program apply to all programs of the job; the same options of a later program add to them or override them. -n
// belongs to one program.
#pragma once

#include "cli/option_spec.h"
#include "grammars/command_line.h"

namespace dlaunch::cli {

/// For all subcommands except `ranktable`, `stacks` and `chaos`.
Result<Command> parse_command_line(const CommandLine& line, const ProcessContext& context);

}  // namespace dlaunch::cli
