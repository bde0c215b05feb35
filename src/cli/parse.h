// From argv to Options. Reads nothing but its parameters and the files that they name.
//
// The value of an option comes from the first of: the command line; DLAUNCH_<NAME>; the config file; the default. Of a
// repeated option the last one counts, but -x and --env-file add up. -x, --env-file and -wdir before the first program
// apply to all programs of the job; later ones add to them or override them. -n is each program's own.
#pragma once

#include "cli/command_line.h"
#include "cli/option_spec.h"

namespace dlaunch::cli {

/// For all verbs but `ranktable` and `chaos`.
Result<Command> parse_command_line(const CommandLine& line, const ProcessContext& context);

}  // namespace dlaunch::cli
