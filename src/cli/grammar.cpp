#include "cli/grammar.h"

#include <algorithm>

namespace dlaunch::cli {
namespace {

using std::string_view;

constexpr Subcommand kSubcommands[] = {
    {"hosts", "[options]", "print the hosts, their slots and devices, and start nothing", Verb::hosts},
    {"check", "[options] [program [args]]",
     "connect to every host, check that the job can run there, and start nothing", Verb::check},
    {"stacks", "[JOB|PID]... [--all]", "print the stacks of a running job's ranks, or of processes", Verb::stacks},
    {"ranktable", "make|check|merge [args]", "make, check or merge rank tables of Ascend devices", Verb::ranktable},
    {"chaos", "--fault FAULT... -- [options] program [args]", "run a job, inject faults, and check the recovery",
     Verb::chaos},
    {"completion", "bash|zsh|fish", "print the completion script of a shell", Verb::completion},
    {"help", "[TOPIC|SUBCOMMAND|OPTION]", "explain a topic; without an argument, list the topics", Verb::help},
    {"__complete", "", "", Verb::complete},  // for the script of a shell; not listed
};

struct NamedGrammar {
  string_view name;
  Grammar grammar;
};

/// The values of --as.
constexpr NamedGrammar kGrammars[] = {{"dlaunch", Grammar::dlaunch},
                                      {"ompi", Grammar::open_mpi},
                                      {"openmpi", Grammar::open_mpi},
                                      {"ompi5", Grammar::open_mpi},
                                      {"prrte", Grammar::open_mpi},
                                      {"mpirun", Grammar::open_mpi},
                                      {"mpiexec", Grammar::open_mpi},
                                      {"orterun", Grammar::open_mpi},
                                      {"prterun", Grammar::open_mpi},
                                      {"hydra", Grammar::hydra},
                                      {"mpich", Grammar::hydra},
                                      {"intel", Grammar::hydra},
                                      {"intelmpi", Grammar::hydra},
                                      {"impi", Grammar::hydra},
                                      {"mpiexec.hydra", Grammar::hydra},
                                      {"torchrun", Grammar::torchrun},
                                      {"torch.distributed.run", Grammar::torchrun},
                                      {"torch.distributed.launch", Grammar::torch_launch},
                                      {"msrun", Grammar::msrun},
                                      {"deepspeed", Grammar::deepspeed},
                                      {"horovodrun", Grammar::horovodrun},
                                      {"srun", Grammar::srun},
                                      {"accelerate", Grammar::accelerate},
                                      {"accelerate-launch", Grammar::accelerate_launch},
                                      {"accelerate.commands.launch", Grammar::accelerate_launch}};

}  // namespace

std::optional<Grammar> grammar_named(string_view value) {
  const auto found = std::ranges::find(kGrammars, value, &NamedGrammar::name);
  return found == std::end(kGrammars) ? std::nullopt : std::optional(found->grammar);
}

std::vector<std::string> grammar_names() {
  std::vector<std::string> names;
  for (const NamedGrammar& known : kGrammars) names.emplace_back(known.name);
  return names;
}

std::span<const Subcommand> subcommand_table() { return std::span(kSubcommands).first<std::size(kSubcommands) - 1>(); }

const Subcommand* find_subcommand(string_view name) {
  const auto* const found = std::ranges::find(kSubcommands, name, &Subcommand::name);
  return found == std::end(kSubcommands) ? nullptr : found;
}

std::vector<std::string> subcommand_names() {
  std::vector<std::string> names;
  for (const Subcommand& subcommand : subcommand_table()) names.emplace_back(subcommand.name);
  return names;
}

}  // namespace dlaunch::cli
