// An option: names, value, help and setter. option_table.cpp has the rows. The parser, the help, the
// man page, docs/options.md, --show-config, the config file and the DLAUNCH_* variables all read the rows. All texts
// are static.
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

/// The environment and the directory of the launcher. Parsing reads no other state of the process.
struct ProcessContext {
  std::vector<std::string> environment;       ///< NAME=VALUE
  std::string cwd;                            ///< absolute; empty if the directory was removed
  ReadFile read_file = read_whole_file;       ///< reads the files named by options
  std::string random_name = "00000000";       ///< unpredictable; part of the names of this run's directories
  std::string start_time = "00000000000000";  ///< local, YYYYmmddHHMMSS
  std::function<bool(const std::string& program)> in_path = {};  ///< empty: assume that every program exists
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

/// The groups of --help-all; option_groups() (cli/help_text.h) has their titles.
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
struct Translated;  // cli/translate.h
using Translate = Result<void> (*)(const ParsedOption&, const ProcessContext&, Translated&);

struct OptionSpec {
  std::string_view names = {};  ///< without dashes; the config file uses the first; "!name" unsets a flag
  Arity takes = Arity::nothing;
  std::string_view value_name = {};  ///< in help texts: "TIME"
  Section section = Section::hidden;
  bool also_later = false;         ///< for the job, and again for each later program of `a : b`: -H
  bool joins = false;              ///< repetitions on the command line are joined with commas
  bool preference = false;         ///< the config file and DLAUNCH_* can set the option
  bool by_variable = false;        ///< DLAUNCH_* can set the option, the config file cannot
  bool common = false;             ///< part of --help
  std::string_view shown = {};     ///< the name in --help; empty: the first name
  std::string_view standard = {};  ///< the default, in help texts; empty: off
  std::string_view help = {};      ///< one line
  JobSetter set_job = nullptr;
  ProgramSetter set_program = nullptr;  ///< instead of set_job: the option belongs to one program of `a : b`
  std::string_view more = {};           ///< sentences for `dlaunch help TOPIC`, docs/options.md and the man page
  // A row of foreign_table() has one of the next two members instead of a setter (cli/translate.h).
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

/// Spellings of other launchers. Translation replaces them by options of option_table() before any other use. Help
/// texts do not list them.
std::span<const OptionSpec> foreign_table();
std::span<const FoundOption> foreign_names();

/// An option of a similar launcher that dlaunch does not support.
struct RefusedOption {
  std::string_view names;  ///< without dashes
  std::string_view why;    ///< the reason, and the option to use instead
};

std::span<const RefusedOption> refused_table();

/// `name` without dashes.
FoundOption find_option(std::string_view name);

/// Finds `name` among the names of `spec`.
FoundOption find_name(const OptionSpec& spec, std::string_view name);

/// --help
const OptionSpec& help_option();

/// Returns the reason in refused_table(); empty if `name` is not in the table.
std::string_view why_refused(std::string_view name);

/// Returns the option as a user types it: "--grace", "-n".
std::string dashed(std::string_view name);

/// Returns the hint for an unknown name: "did you mean --hostfile?". Empty if no name is similar.
std::string did_you_mean(std::string_view name);

/// Returns the preference with the most similar name, such as "grace". `of_variables`: includes options with
/// `by_variable`.
std::optional<std::string> nearest_preference(std::string_view name, bool of_variables);

/// The origin of an option's value, the weakest first.
enum class Source {
  personality,  ///< a default of the launcher given by argv[0] or --as
  convention,   ///< NO_COLOR, MPIEXEC_TIMEOUT
  config_file,
  mca_variable,  ///< OMPI_MCA_*
  variable,
  command_line
};

/// One option with its value and origin.
struct ParsedOption {
  const OptionSpec* spec = nullptr;
  std::string value;    ///< "true" or "false" for a flag
  std::string spelled;  ///< "-np", "DLAUNCH_GRACE", "config.toml:3: grace"
  std::string origin;   ///< for --show-config: "command line", "DLAUNCH_GRACE", "config.toml:3"
  Source source = Source::command_line;
};

}  // namespace dlaunch::cli
