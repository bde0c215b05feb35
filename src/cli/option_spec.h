// An option: names, value, help and setter. option_table.cpp has the rows. The parser, the help, the
// man page, docs/options.md, --show-config, the config file and the DLAUNCH_* variables all read the rows. All texts
// are static.
#pragma once

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/files.h"
#include "cli/options.h"

namespace dlaunch::cli {

/// The environment and the directory of the launcher. Parsing reads no other state of the process.
struct ProcessContext {
  std::vector<std::string> environment;  ///< NAME=VALUE
  place::Place place = {};               ///< read from `environment`
  std::string cwd;                       ///< absolute; empty if the directory was removed
  ReadFile read_file = read_whole_file;  ///< for read()
  ReadLimit read_limit = {};
  std::string random_name = "00000000";       ///< unpredictable; part of the names of this run's directories
  std::string start_time = "00000000000000";  ///< local, YYYYmmddHHMMSS
  std::function<bool(const std::string& program)> in_path = {};  ///< empty: assume that every program exists

  /// Reads a file that an option names.
  tl::expected<std::string, Unreadable> read(const std::string& path) const { return read_file(path, read_limit); }
};

enum class Arity {
  nothing,      ///< a flag
  count,        ///< a flag; repetitions add up: -v -v
  value,        ///< `--name VALUE` or `--name=VALUE`
  pair,         ///< `--name KEY VALUE`; the value becomes KEY=VALUE
  assignment,   ///< as `pair`, or `--name KEY=VALUE`
  maybe_value,  ///< `--name`, `--name=VALUE`, or `--name VALUE` if VALUE contains a '{'
  show,         ///< a flag that ends parsing: --help
};

/// The groups of --help-all; option_groups() (cli/help.h) has their titles.
enum class Section {
  start,
  hosts,
  connections,
  nodes,
  devices,
  environment,
  output,
  binding,
  failures,
  restarts,
  inspect,
  configuration,
  hidden
};

/// Both setters get the value as text ("true" for a flag, a number for a count). The caller fills an empty `where` of
/// an Error with the option as typed.
using JobSetter = Result<void> (*)(Options&, std::string_view value, const ProcessContext&);
using ProgramSetter = Result<void> (*)(plan::AppRequest&, std::string_view value, const ProcessContext&);

struct ParsedOption;
struct Translated;
using Translate = Result<void> (*)(const ParsedOption&, const ProcessContext&, Translated&);

struct OptionSpec {
  std::string_view names = {};  ///< without dashes; the config file uses the first; "!name" unsets a flag
  Arity takes = Arity::nothing;
  std::string_view value_name = {};  ///< in help texts: "TIME"
  Section section = Section::hidden;
  bool also_later = false;                          ///< for the job, and again for each later program of `a : b`: -H
  bool joins = false;                               ///< repetitions on the command line are joined with commas
  bool preference = false;                          ///< the config file and DLAUNCH_* can set the option
  bool by_variable = false;                         ///< DLAUNCH_* can set the option, the config file cannot
  bool common = false;                              ///< part of --help
  std::string_view shown = {};                      ///< the name in --help; empty: the first name
  std::string_view standard = {};                   ///< the default, in help texts; empty: off
  std::string_view bare = {};                       ///< for Arity::maybe_value: the value without VALUE
  std::string_view help = {};                       ///< one line
  std::vector<std::string> (*choices)() = nullptr;  ///< fixed values, listed after a `help` that ends with ':'
  JobSetter set_job = nullptr;
  ProgramSetter set_program = nullptr;  ///< instead of set_job: the option belongs to one program of `a : b`
  std::string_view more = {};           ///< sentences for `dlaunch help TOPIC`, docs/options.md and the man page
  // A row of another launcher's options has one of these instead of a setter.
  std::string_view stands_for = {};  ///< "map-by=node", "ranks={}": dlaunch's option; {} is the given value
  Translate translate = nullptr;

  std::string_view name() const { return names.substr(0, names.find(' ')); }
  bool per_program() const { return set_program != nullptr; }
};

struct FoundOption {
  const OptionSpec* spec = nullptr;  ///< null: unknown option
  std::string_view name = {};        ///< without dashes and '!'
};

std::span<const OptionSpec> option_table();
std::span<const FoundOption> option_names();  ///< all names in option_table(), sorted

/// Options of torchrun, srun and other launchers in dlaunch's own grammar, each with one meaning (stands_for).
std::span<const OptionSpec> familiar_table();
std::span<const FoundOption> familiar_names();

/// An option of another launcher that dlaunch does not support.
struct RefusedOption {
  std::string_view names;  ///< without dashes
  std::string_view why;    ///< may be empty
  std::string_view hint;   ///< begins with a verb: "use --report FILE"
};

std::span<const RefusedOption> refused_table();

/// Finds a row of option_table(). `name` has no dashes.
FoundOption find_option(std::string_view name);

/// Finds an option by a name without dashes. A parameter for the options that a command line or a file may have.
using FindOption = std::function<FoundOption(std::string_view name)>;

/// Returns `spec` if `name` is one of its names.
FoundOption find_name(const OptionSpec& spec, std::string_view name);

/// "nproc_per_node" becomes "nproc-per-node".
std::string dashes_for_underscores(std::string_view name);

/// --help
const OptionSpec& help_option();

/// Returns the row of refused_table() with this name, or null. '_' in `name` matches '-'.
const RefusedOption* refused_option(std::string_view name);

/// "--grace", "-n": an option as a user types it.
std::string dashed(std::string_view name);

/// The hint for an unknown name: "use --hostfile". Empty if no known name is similar.
std::string did_you_mean(std::string_view name);

/// The preference with the most similar name, such as "grace"; nullopt if no name is similar. `of_variables`: also
/// options that only DLAUNCH_* can set.
std::optional<std::string> nearest_preference(std::string_view name, bool of_variables);

/// The sources of an option, the weakest first.
enum class Source {
  personality,  ///< a default of the launcher in --as or argv[0]
  convention,   ///< NO_COLOR, a Kubernetes MPIJob
  config_file,
  mca_variable,  ///< OMPI_MCA_* and other variables of MPI launchers
  variable,
  command_line
};

/// One option from one source.
struct ParsedOption {
  const OptionSpec* spec = nullptr;
  std::string value;    ///< "true" or "false" for a flag
  std::string spelled;  ///< "-np", "DLAUNCH_GRACE", "config.toml:3: grace"
  std::string origin;   ///< for --show-config: "command line", "DLAUNCH_GRACE", "config.toml:3"
  Source source = Source::command_line;
};

/// The options of dlaunch for one option of another launcher.
struct Translated {
  std::vector<ParsedOption> here;        ///< options in its place
  std::vector<ParsedOption> everywhere;  ///< options for every program of `a : b`; a program's own override these
  std::vector<std::string> notes;        ///< for the user, one line each
};

// The names of a table of options, sorted at compile time: each start looks up about 200 names.

/// Calls `visit` with each space-separated name.
template <class Visit>
constexpr void each_name(std::string_view names, Visit visit) {
  while (!names.empty()) {
    const size_t end = std::min(names.find(' '), names.size());
    visit(names.substr(0, end));
    names.remove_prefix(std::min(end + 1, names.size()));
  }
}

/// Finds a name among sorted names.
inline FoundOption find_in(std::span<const FoundOption> names, std::string_view name) {
  const auto found = std::ranges::lower_bound(names, name, {}, &FoundOption::name);
  return found != names.end() && found->name == name ? *found : FoundOption{};
}

template <const auto& Table>
consteval auto sorted_names() {
  constexpr size_t kCount = [] {
    size_t count = 0;
    for (const OptionSpec& spec : Table) each_name(spec.names, [&](std::string_view) { ++count; });
    return count;
  }();
  std::array<FoundOption, kCount> names;
  auto* next = names.begin();
  for (const OptionSpec& spec : Table) {
    each_name(spec.names,
              [&](std::string_view name) { *next++ = {&spec, name.substr(name.starts_with('!') ? 1 : 0)}; });
  }
  std::ranges::sort(names, {}, &FoundOption::name);
  return names;
}

}  // namespace dlaunch::cli
