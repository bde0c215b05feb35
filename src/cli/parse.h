// From argv to Options: the front of dlaunch. Reads no more of the world than its parameters and the files they name.
//
// What holds for an option, the first of: the command line; DLAUNCH_<NAME>; the config file; the default. An option
// given twice counts as last given; -x and --env-file add up. -x, --env-file and -wdir before the first program hold
// for all programs of the job; later ones add to them or win over them. -n is each program's own.
#pragma once

#include "cli/command_line.h"
#include "cli/option_spec.h"

namespace dlaunch::cli {

/// Of all verbs but `ranktable`.
Result<Command> parse_command_line(const CommandLine& line, const ProcessContext& surroundings);

}  // namespace dlaunch::cli
