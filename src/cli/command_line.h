// What argv says before any option is examined: whose grammar the words have, and which subcommand they are for. PURE.
//
// To add a launcher's grammar: a value of Grammar, its row in command_line.cpp, and where the launcher has options of
// its own, a LauncherSpec (cli/launchers.h).
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"
#include "dlaunch/error.h"

namespace dlaunch::cli {

/// The grammar decides what the words mean and which defaults apply (cli/mpirun/personality.h).
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

/// A first word that is no program. Elsewhere, after "--", and for mpirun such a word is a program.
struct Subcommand {
  std::string_view name;
  std::string_view usage;  ///< "[options] [program]"
  std::string_view what;   ///< one line
  Verb verb;
  bool rare = false;  ///< in the man page only
};

/// In the order in which the man page shows them.
std::span<const Subcommand> subcommand_table();

struct CommandLine {
  Grammar grammar = Grammar::dlaunch;
  Verb verb = Verb::run;
  std::vector<std::string> words;  ///< those after the subcommand
};

/// The grammar is the one that --as (or --personality) names as the first word, else the one of argv[0]'s base name:
/// "mpirun" or "mpirun.any", "mpiexec.hydra" and Debian's "mpiexec.mpich", "torchrun". A grammar of dlaunch's own
/// options may be named by any option before the program. The name of a launcher whose grammar is not known here is
/// refused: its line would mean something else.
Result<CommandLine> read_command_line(std::string_view program_name, std::vector<std::string> words);

}  // namespace dlaunch::cli
