// What the first word may be instead of a program. Anywhere else, after "--", and for mpirun such a word is a program.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/options.h"

namespace dlaunch::cli {

struct Subcommand {
  std::string_view name;
  std::string_view usage;    ///< "[options] [program]"
  std::string_view what;     ///< one line
  std::optional<Verb> verb;  ///< of those that take a job's options
};

/// In the order in which --help shows them.
std::span<const Subcommand> subcommand_table();

/// Null when the first word is none of them. `program_name` is argv[0].
const Subcommand* subcommand_of(std::span<const std::string> words, std::string_view program_name);

}  // namespace dlaunch::cli
