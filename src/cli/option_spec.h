// One option: its names, its value, its help and what it sets. The rows are in option_table.cpp, which is the one place
// to add an option: the parser, --help, the man page, --show-config, the config file and the DLAUNCH_* variables all
// read them. The values are static.
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

/// The launcher's environment and directory as a value, so that parsing depends on nothing else.
struct ProcessContext {
  std::vector<std::string> environment;       ///< NAME=VALUE
  std::string cwd;                            ///< absolute; empty when it is gone
  ReadFile read_file = read_whole_file;       ///< for the files that options name
  std::string random_name = "00000000";       ///< that nobody can foresee, for directories of this run
  std::string start_time = "00000000000000";  ///< local, YYYYmmddHHMMSS
  std::function<bool(const std::string& program)> in_path = {};  ///< empty: all programs are there
};

enum class Arity {
  nothing,      ///< a flag
  count,        ///< a flag that adds up: -v -v
  value,        ///< `--name VALUE` or `--name=VALUE`
  pair,         ///< `--name KEY VALUE`; taken as the value KEY=VALUE
  assignment,   ///< the same, or `--name KEY=VALUE`
  maybe_value,  ///< `--name`, `--name=VALUE`, or `--name VALUE` when VALUE has a '{'
  show,         ///< a flag that ends parsing: --help
};

enum class Section { start, place, environment, output, input, binding, ending, look, configuration, hidden };

/// Both setters get the value as text ("true" for a flag, a number for a count). An Error's empty `where` is filled
/// with the option as it was typed.
using JobSetter = Result<void> (*)(Options&, std::string_view value, const ProcessContext&);
using ProgramSetter = Result<void> (*)(plan::AppRequest&, std::string_view value, const ProcessContext&);

struct ParsedOption;
struct Translated;  // cli/translate.h
using Translate = Result<void> (*)(const ParsedOption&, const ProcessContext&, Translated&);

struct OptionSpec {
  std::string_view names = {};  ///< without dashes, the first is the name in the config file; "!name" unsets a flag
  Arity takes = Arity::nothing;
  std::string_view value_name = {};  ///< for people: "SECONDS"
  Section section = Section::hidden;
  bool also_later = false;         ///< one for the job, and another for each later program of `a : b`: -H
  bool joins = false;              ///< a repetition on the command line appends to the value, with a comma
  bool preference = false;         ///< the config file and DLAUNCH_* may set it
  bool by_variable = false;        ///< DLAUNCH_* may set it, and the config file may not
  bool rare = false;               ///< in the man page, not in --help
  std::string_view standard = {};  ///< the default, for people; empty: off
  std::string_view help = {};      ///< one line
  JobSetter set_job = nullptr;
  ProgramSetter set_program = nullptr;  ///< set instead when the option belongs to one program of `a : b`
  std::string_view more = {};           ///< sentences for the man page only
  // Rows of foreign_table() have one of these instead of a setter (cli/translate.h).
  std::string_view stands_for = {};  ///< "map-by=node", "ranks={}": the option that it means here; {} is its own value
  Translate translate = nullptr;

  std::string_view name() const { return names.substr(0, names.find(' ')); }
  bool per_program() const { return set_program != nullptr; }
};

struct FoundOption {
  const OptionSpec* spec = nullptr;  ///< null: no such option
  std::string_view name = {};        ///< the name that was found, without dashes and '!'
};

std::span<const OptionSpec> option_table();
std::span<const FoundOption> option_names();  ///< of its rows, sorted

/// Other launchers' spellings, in no help, which become options of option_table() before anything else reads them.
std::span<const OptionSpec> foreign_table();
std::span<const FoundOption> foreign_names();

/// Options of similar launchers that dlaunch does not have, and why.
struct RefusedOption {
  std::string_view names;  ///< without dashes
  std::string_view why;
};

std::span<const RefusedOption> refused_table();

/// `name` without dashes.
FoundOption find_option(std::string_view name);

/// `spec`, when `name` is one of its names.
FoundOption find_name(const OptionSpec& spec, std::string_view name);

/// --help
const OptionSpec& help_option();

/// Why `name` is refused; empty when it is not in refused_table().
std::string_view why_refused(std::string_view name);

/// "--grace", "-n": as a user would type it.
std::string dashed(std::string_view name);

/// The hint for an unknown name: "did you mean --hostfile?". Empty when no name is near.
std::string did_you_mean(std::string_view name);

/// The preference whose name is nearest to `name`, such as "grace"; none when none is near. `of_variables`: also one
/// that DLAUNCH_* alone may set.
std::optional<std::string> nearest_preference(std::string_view name, bool of_variables);

/// Who set an option, the weakest first.
enum class Source {
  personality,  ///< a default of the launcher under whose name dlaunch was called
  convention,   ///< NO_COLOR, MPIEXEC_TIMEOUT
  config_file,
  mca_variable,  ///< OMPI_MCA_*
  variable,
  command_line
};

/// One option as it was given somewhere.
struct ParsedOption {
  const OptionSpec* spec = nullptr;
  std::string value;    ///< "true" or "false" for a flag
  std::string spelled;  ///< "-np", "DLAUNCH_GRACE", "config.toml:3: grace"
  std::string origin;   ///< for --show-config: "command line", "DLAUNCH_GRACE", "config.toml:3"
  Source source = Source::command_line;
};

}  // namespace dlaunch::cli
