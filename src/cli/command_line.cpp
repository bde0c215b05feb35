#include "cli/command_line.h"

#include <algorithm>

#include "cli/option_parser.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

constexpr Subcommand kSubcommands[] = {
    {"hosts", "[options]", "print the hosts, their slots and devices, and start nothing", Verb::hosts},
    {"check", "[options] [program]", "reach every host, see that what the job needs is there, and start nothing",
     Verb::check},
    {"ranktable", "make|check|merge", "write, check or merge rank tables of Ascend devices", Verb::ranktable},
};

struct NamedGrammar {
  string_view name;
  Grammar grammar;
};

/// The values of --personality.
constexpr NamedGrammar kGrammars[] = {{"dlaunch", Grammar::dlaunch}, {"ompi", Grammar::open_mpi},
                                      {"ompi5", Grammar::open_mpi},  {"prrte", Grammar::open_mpi},
                                      {"mpirun", Grammar::open_mpi}, {"hydra", Grammar::hydra},
                                      {"mpich", Grammar::hydra}};

/// Launchers whose lines would be accepted with another meaning.
constexpr string_view kOtherLaunchers[] = {"torchrun", "deepspeed", "horovodrun", "msrun", "srun", "accelerate"};

string_view base_name(string_view path) { return path.substr(path.rfind('/') + 1); }

Grammar grammar_called(string_view program_name) {
  const string_view base = base_name(program_name);
  const size_t dot = std::min(base.find('.'), base.size());
  const string_view name = base.substr(0, dot);
  const string_view of = base.substr(dot);
  if (name != "mpirun" && name != "mpiexec" && name != "orterun") return Grammar::dlaunch;
  return of == ".hydra" || of == ".mpich" ? Grammar::hydra : Grammar::open_mpi;
}

}  // namespace

std::optional<Grammar> grammar_named(string_view value) {
  const auto found = std::ranges::find(kGrammars, value, &NamedGrammar::name);
  return found == std::end(kGrammars) ? std::nullopt : std::optional(found->grammar);
}

std::span<const Subcommand> subcommand_table() { return kSubcommands; }

Result<CommandLine> read_command_line(string_view program_name, std::vector<std::string> words) {
  bool named = false;
  CommandLine line{.grammar = grammar_called(program_name), .words = std::move(words)};
  const auto subcommand = line.words.empty() || line.grammar != Grammar::dlaunch
                              ? std::end(kSubcommands)
                              : std::ranges::find(kSubcommands, line.words.front(), &Subcommand::name);
  if (subcommand != std::end(kSubcommands)) {
    line.verb = subcommand->verb;
    line.words.erase(line.words.begin());
  }
  for (std::span<const std::string> rest(line.words); !rest.empty() && rest.front().starts_with('-');) {
    const TypedOption typed = next_option(rest, find_option);
    if (!typed.found.spec) break;
    if (typed.found.spec->name() != "personality") continue;
    named = true;
    line.grammar = grammar_named(typed.text()).value_or(line.grammar);
  }
  const string_view name = base_name(program_name);
  if (!named && std::ranges::find(kOtherLaunchers, name) != std::end(kOtherLaunchers)) {
    return fail({.where = std::string(name),
                 .what = "dlaunch does not read this launcher's command line",
                 .why = "the same words would mean something else",
                 .hint = "call it dlaunch and write its own options (dlaunch --help), or add --personality dlaunch"});
  }
  return line;
}

}  // namespace dlaunch::cli
