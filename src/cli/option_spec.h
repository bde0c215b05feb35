// What one option is: its names, its value, its help and what it sets. The rows are in option_table.cpp, which is the
// one place to add an option: the parser, --help, the man page, --show-config, the config file and the DLAUNCH_*
// variables all read them there. Values with static life.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/files.h"
#include "cli/options.h"

namespace dlaunch::cli {

/// The launcher's own, as a value, so that parsing depends on nothing else.
struct ProcessContext {
  std::vector<std::string> environment;  ///< NAME=VALUE
  std::string cwd;                       ///< absolute; empty when it is gone
  ReadFile read_file = read_whole_file;  ///< for the files that options name
};

enum class Arity {
  nothing,      ///< a flag
  count,        ///< a flag that adds up: -v -v
  value,        ///< `--name VALUE` or `--name=VALUE`
  pair,         ///< `--name KEY VALUE`; taken as the value KEY=VALUE
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
  bool also_later = false;         ///< a job's, and a later program of `a : b` may have one of its own: -H
  bool joins = false;              ///< given again on the command line, the values add up with commas between
  bool preference = false;         ///< the config file and DLAUNCH_* may set it
  bool rare = false;               ///< in the man page, not in --help
  std::string_view standard = {};  ///< what holds when nobody sets it, for people; empty: off
  std::string_view help = {};      ///< one line
  JobSetter set_job = nullptr;
  ProgramSetter set_program = nullptr;  ///< this, when the option belongs to one program of `a : b`
  std::string_view more = {};           ///< sentences for the man page only
  // Of a row of foreign_table() one of these instead of a setter (cli/translate.h).
  std::string_view stands_for = {};  ///< "map-by=node", "ranks={}": the option that it is here, {} its own value
  Translate translate = nullptr;

  std::string_view name() const { return names.substr(0, names.find(' ')); }
  bool per_program() const { return set_program != nullptr; }
};

struct FoundOption {
  const OptionSpec* spec = nullptr;  ///< null: no such option
  std::string_view name = {};        ///< the one of its names, without dashes and '!'
};

std::span<const OptionSpec> option_table();
std::span<const FoundOption> option_names();  ///< of its rows, sorted

/// Other launchers' spellings, each taken for options of option_table() before anything else looks at them. In no help.
std::span<const OptionSpec> foreign_table();
std::span<const FoundOption> foreign_names();

/// Options of launchers like this one that are none here, and why.
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

/// The known name nearest to `name`: "did you mean --hostfile?". Empty when none is near.
std::string did_you_mean(std::string_view name);

/// The preference whose name is nearest to `name`, "grace"; none when none is near.
std::optional<std::string> nearest_preference(std::string_view name);

/// Who set an option, the weaker first.
enum class Source {
  personality,  ///< a default of the launcher whose name we were called by
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
