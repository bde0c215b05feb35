// The first step of parsing: finds the grammar of the command line and the subcommand, before any option is read. PURE.
//
// To add a launcher's grammar, add a value of Grammar and a row in command_line.cpp. If the launcher has its own
// options, add a LauncherSpec (cli/launchers.h).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"
#include "dlaunch/error.h"

namespace dlaunch::cli {

/// Selects the meaning of the words and the defaults (cli/mpirun/personality.h).
enum class Grammar {
  dlaunch,
  open_mpi,
  hydra,
  torchrun,
  torch_launch,
  msrun,
  deepspeed,
  horovodrun,
  srun,
  accelerate,
  accelerate_launch
};

/// A value of --as: "ompi" (also mpirun, prrte, …), "hydra" (also mpich), "torchrun", "torch.distributed.launch",
/// "dlaunch".
std::optional<Grammar> grammar_named(std::string_view value);

/// The values of --as.
std::vector<std::string> grammar_names();

/// A subcommand as the first word. In any other position, after "--", and for mpirun the same word is a program.
struct Subcommand {
  std::string_view name;
  std::string_view usage;  ///< "[options] [program]"
  std::string_view what;   ///< one line
  Verb verb;
};

/// In the order of the help texts.
std::span<const Subcommand> subcommand_table();

std::vector<std::string> subcommand_names();

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
