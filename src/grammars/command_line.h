// The first step of parsing: finds the grammar of the command line and the subcommand, before any option is read. PURE.
//
// To add a launcher's grammar, add a value of Grammar and a row in cli/grammar.cpp. If the launcher has its own
// options, add a LauncherSpec (grammars/launchers.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/grammar.h"
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

}  // namespace dlaunch::cli
