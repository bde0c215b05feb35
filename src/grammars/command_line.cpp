#include "grammars/command_line.h"

#include <algorithm>

#include "base/try.h"
#include "cli/option_parser.h"
#include "grammars/launchers.h"
#include "mpirun/arguments.h"
#include "mpirun/translate.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

constexpr string_view kMpiLaunchers[] = {"mpirun", "mpiexec", "orterun", "prterun", "oshrun", "shmemrun"};

/// Launchers without a grammar here. dlaunch rejects a call by these names: the words would get another meaning.
constexpr string_view kUnread[] = {"jsrun", "lrun", "aprun", "ibrun", "prun", "mpirun_rsh", "charmrun"};

string_view base_name(string_view path) { return path.substr(path.rfind('/') + 1); }

/// Whether a command of the program parses the words, and not parse_command_line().
bool has_own_parser(Verb verb) {
  return verb == Verb::stacks || verb == Verb::ranktable || verb == Verb::chaos || verb == Verb::completion;
}

/// Changes `help ranktable make` to `ranktable make --help`: a subcommand with its own parser has its own help.
void forward_help(CommandLine& line) {
  const Subcommand* const subcommand = line.words.empty() ? nullptr : find_subcommand(line.words.front());
  if (!subcommand || !has_own_parser(subcommand->verb)) return;
  const bool below = subcommand->verb == Verb::ranktable && line.words.size() == 2 && !line.words[1].starts_with('-');
  if (line.words.size() > 1 && !below) return;
  line.verb = subcommand->verb;
  line.words.erase(line.words.begin());
  line.words.emplace_back("--help");
}

Grammar grammar_called(string_view program_name) {
  const string_view base = base_name(program_name);
  const auto named = grammar_named(base);
  if (named && launcher_of(*named)) return *named;
  const size_t dot = std::min(base.find('.'), base.size());
  const string_view name = base.substr(0, dot);
  const string_view of = base.substr(dot);
  if (std::ranges::find(kMpiLaunchers, name) == std::end(kMpiLaunchers)) return Grammar::dlaunch;
  return of == ".hydra" || of == ".mpich" ? Grammar::hydra : Grammar::open_mpi;
}

bool names_grammar(const TypedOption& typed) { return typed.found.spec && typed.found.spec->name() == "personality"; }

/// --as as the first word: its value, and the words after the value.
struct FirstWord {
  std::string name = {};
  std::span<const std::string> rest = {};
};

FirstWord first_word(std::span<const std::string> words) {
  if (words.empty() || !words.front().starts_with('-')) return {};
  const TypedOption typed = next_option(words, find_option);
  if (!names_grammar(typed)) return {};
  return {std::string(typed.text()), words};
}

/// Whether only Hydra or PALS has the option, and Open MPI's launcher does not. An mpirun or mpiexec line with
/// this option has Hydra's grammar.
bool is_of_hydra(const TypedOption& typed) {
  constexpr string_view kOfBothTables[] = {"ppn", "hosts", "f"};  // dlaunch has these names too
  return is_word_of_hydra(typed.name()) || std::ranges::find(kOfBothTables, typed.name()) != std::end(kOfBothTables);
}

/// Whether both Open MPI and Hydra have a launcher of this name.
bool is_of_both(string_view launcher) {
  const string_view base = base_name(launcher);
  return base == "mpirun" || base == "mpiexec";
}

/// Finds --as among the options of dlaunch's grammar, or of a grammar with dlaunch's options. `either`: the grammar may
/// also be `hydra`.
Result<Grammar> grammar_among(std::span<const std::string> words, Grammar grammar, bool either) {
  while (!words.empty() && words.front().starts_with('-')) {
    const TypedOption typed = next_option(words, find_typed_option);
    if (!typed.found.spec) break;
    if (either && grammar == Grammar::open_mpi && is_of_hydra(typed)) grammar = Grammar::hydra;
    if (!names_grammar(typed)) continue;
    either = is_of_both(typed.text());
    grammar = grammar_named(typed.text()).value_or(grammar);
    if (!launcher_of(grammar)) continue;
    return fail({.where = std::string(typed.spelled) + ' ' + std::string(typed.text()),
                 .what = "must be the first option",
                 .why = "the words after the launcher's name are options of the launcher",
                 .hint = "run dlaunch --as " + std::string(typed.text()) + " …"});
  }
  return grammar;
}

}  // namespace

Result<CommandLine> read_command_line(string_view program_name, std::vector<std::string> words) {
  CommandLine line{.grammar = grammar_called(program_name), .words = std::move(words)};
  const FirstWord first = first_word(line.words);
  const string_view called = base_name(program_name);
  if (first.name.empty() && std::ranges::find(kUnread, called) != std::end(kUnread)) {
    return fail({.where = std::string(called),
                 .what = "not supported: command lines of this launcher",
                 .why = "",
                 .hint = "use the options of dlaunch, or --as with a supported launcher"});
  }
  if (!first.name.empty()) line.grammar = grammar_named(first.name).value_or(Grammar::dlaunch);
  if (launcher_of(line.grammar)) {
    if (!first.name.empty()) line.words = {first.rest.begin(), first.rest.end()};
    return line;
  }
  const bool may_have_subcommand = !line.words.empty() && line.grammar == Grammar::dlaunch;
  if (const auto* subcommand = may_have_subcommand ? find_subcommand(line.words.front()) : nullptr) {
    line.verb = subcommand->verb;
    line.words.erase(line.words.begin());
  }
  if (line.verb == Verb::complete) return line;
  if (line.verb == Verb::help) {
    forward_help(line);
    return line;
  }
  const bool either = is_of_both(first.name.empty() ? program_name : string_view(first.name));
  line.grammar = TRY(grammar_among(line.words, line.grammar, either));
  return line;
}

}  // namespace dlaunch::cli
