// The first step of parsing: finds the grammar of the command line and the subcommand, before any option is read. PURE.
//
// To add a launcher's grammar, add a value of Grammar and a row in cli/grammar.cpp. If the launcher has its own
// options, add a LauncherSpec (grammars/launchers.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/grammar.h"
#include "cli/option_spec.h"
#include "dlaunch/error.h"

namespace dlaunch::cli {

struct CommandLine {
  Grammar grammar = Grammar::dlaunch;
  Verb verb = Verb::run;
  std::vector<std::string> words;  ///< the words after the subcommand
};

/// The grammar comes from --as (or --personality) as the first word, else from argv[0]'s base name: "mpirun" or
/// "mpirun.any", "mpiexec.hydra" and Debian's "mpiexec.mpich", "torchrun". For a grammar with dlaunch's options, --as
/// may be any option before the program. `help ranktable` becomes `ranktable --help`, for each subcommand with its own
/// parser. An Error if argv[0] is a launcher without a grammar here.
Result<CommandLine> read_command_line(std::string_view program_name, std::vector<std::string> words);

// Converts a command line of any grammar to Options. Reads only the parameters and the files that they name.
//
// The value of an option comes from the first of: the command line; DLAUNCH_<NAME>; the config file; the default. The
// last of repeated options wins, except that -x and --env-file accumulate. -x, --env-file and --wdir before the first
// program apply to all programs of the job; the same options of a later program add to them or override them. -n
// belongs to one program.

/// For all subcommands except those with their own parser.
Result<Command> parse_command_line(const CommandLine& line, ProcessContext context);

}  // namespace dlaunch::cli
