#include "cli/subcommands.h"

#include <algorithm>

#include "cli/mpirun/personality.h"

namespace dlaunch::cli {
namespace {

constexpr Subcommand kSubcommands[] = {
    {"hosts", "[options]", "print the hosts, their slots and devices, and start nothing", Verb::hosts},
    {"check", "[options] [program]", "reach every host, see that what the job needs is there, and start nothing",
     Verb::check},
    {"ranktable", "make|check|merge", "write, check or merge rank tables of Ascend devices", std::nullopt},
};

}  // namespace

std::span<const Subcommand> subcommand_table() { return kSubcommands; }

const Subcommand* subcommand_of(std::span<const std::string> words, std::string_view program_name) {
  if (words.empty() || personality_of(program_name) != Personality::dlaunch) return nullptr;
  const auto found = std::ranges::find(kSubcommands, words.front(), &Subcommand::name);
  return found == std::end(kSubcommands) ? nullptr : found;
}

}  // namespace dlaunch::cli
