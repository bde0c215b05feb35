// One option: its names, value, help and setter. To add an option, add a row to option_table.cpp: the parser, --help,
// the man page, --show-config, the config file and the DLAUNCH_* variables read the rows. All strings are static.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/files.h"
#include "cli/options.h"

namespace dlaunch::cli {

/// The environment and directory of the launcher. The parser has no other input.
struct ProcessContext {
  std::vector<std::string> environment;                          ///< NAME=VALUE
  std::string cwd;                                               ///< absolute; empty if the directory was removed
  ReadFile read_file = read_whole_file;                          ///< reads the files that options name
  std::string random_name = "00000000";                          ///< unpredictable, for directories of this run
  std::string start_time = "00000000000000";                     ///< local, YYYYmmddHHMMSS
  std::function<bool(const std::string& program)> in_path = {};  ///< empty: all programs exist
};

enum class Arity {
  nothing,      ///< a flag
  count,        ///< a flag with a counter: -v -v
  value,        ///< `--name VALUE` or `--name=VALUE`
  pair,         ///< `--name KEY VALUE`; the value is KEY=VALUE
  assignment,   ///< `--name KEY VALUE` or `--name KEY=VALUE`
  maybe_value,  ///< `--name`, `--name=VALUE`, or `--name VALUE` if VALUE contains '{'
  show,         ///< a flag that ends parsing: --help
};

enum class Section { start, place, environment, output, input, binding, ending, look, configuration, hidden };

/// Setters get the value as text: "true" for a flag, a number for a count. The caller sets an Error's empty `where` to
/// the option as typed.
using JobSetter = Result<void> (*)(Options&, std::string_view value, const ProcessContext&);
using ProgramSetter = Result<void> (*)(plan::AppRequest&, std::string_view value, const ProcessContext&);

struct ParsedOption;
struct Translated;  // cli/mpirun/translate.h
using Translate = Result<void> (*)(const ParsedOption&, const ProcessContext&, Translated&);

struct OptionSpec {
  std::string_view names = {};  ///< without dashes, the config file's name first; "!name" unsets a flag
  Arity takes = Arity::nothing;
  std::string_view value_name = {};  ///< in the help: "SECONDS"
  Section section = Section::hidden;
  bool also_later = false;         ///< also an option of each later program of `a : b`: -H
  bool joins = false;              ///< a repeated option appends its value, after a comma
  bool preference = false;         ///< can be set in the config file and by DLAUNCH_*
  bool by_variable = false;        ///< can be set by DLAUNCH_*, but not in the config file
  bool rare = false;               ///< in the man page, not in --help
  std::string_view standard = {};  ///< the default, for the help; empty: off
  std::string_view help = {};      ///< one line
  JobSetter set_job = nullptr;
  ProgramSetter set_program = nullptr;  ///< instead of set_job: an option of one program of `a : b`
  std::string_view more = {};           ///< sentences for the man page only
  // Rows of foreign_table() and familiar_table() have one of these instead of a setter (cli/mpirun/translate.h).
  std::string_view stands_for = {};  ///< "map-by=node", "ranks={}": dlaunch's option; {} is the given value
  Translate translate = nullptr;

  std::string_view name() const { return names.substr(0, names.find(' ')); }
  bool per_program() const { return set_program != nullptr; }
};

struct FoundOption {
  const OptionSpec* spec = nullptr;  ///< null: unknown option
  std::string_view name = {};        ///< the name in the row, without dashes and '!'
};

std::span<const OptionSpec> option_table();
std::span<const FoundOption> option_names();  ///< of its rows, sorted

/// Options of mpirun and Hydra. translate_options() replaces them by options of option_table(). The help omits them.
std::span<const OptionSpec> foreign_table();
std::span<const FoundOption> foreign_names();

/// The same for other launchers, in dlaunch's own grammar.
std::span<const OptionSpec> familiar_table();
std::span<const FoundOption> familiar_names();

/// An option of another launcher that dlaunch does not support.
struct RefusedOption {
  std::string_view names;  ///< without dashes
  std::string_view why;    ///< may be empty
  std::string_view hint;   ///< begins with a verb: "use --report FILE"
};

std::span<const RefusedOption> refused_table();

/// Finds a row of option_table() or foreign_table(). `name` has no dashes.
FoundOption find_option(std::string_view name);

/// As find_option(), and finds rows of familiar_table(). Also accepts '_' for '-' in `name`.
FoundOption find_typed_option(std::string_view name);

/// Returns `spec` if `name` is one of its names.
FoundOption find_name(const OptionSpec& spec, std::string_view name);

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
  convention,   ///< NO_COLOR, MPIEXEC_TIMEOUT
  config_file,
  mca_variable,  ///< OMPI_MCA_*
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

}  // namespace dlaunch::cli
