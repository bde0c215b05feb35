// The names that choose the meaning of a command line: the values of --as, and the subcommands. PURE.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"

namespace dlaunch::cli {

/// Selects the meaning of the words and the defaults (grammars/launchers.h).
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

/// In the order of the help texts, without __complete.
std::span<const Subcommand> subcommand_table();

/// Its row; nullptr: not a subcommand.
const Subcommand* find_subcommand(std::string_view name);

std::vector<std::string> subcommand_names();

}  // namespace dlaunch::cli
