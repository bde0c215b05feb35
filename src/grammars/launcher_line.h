// Reads another launcher's command line as its own parser does, into options and the program. The file of each
// launcher, such as grammars/torchrun/torchrun.cpp, has the meaning of its options. PURE.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/option_spec.h"
#include "dlaunch/error.h"

namespace dlaunch::cli {

/// The support of another launcher's option in dlaunch.
enum class Support {
  translated,  ///< the same meaning as in the launcher
  ignored,     ///< accepted without effect; a note has the reason
  refused,     ///< an error; LauncherOption::row.help has the replacement
  allocation,  ///< a request to the batch system; LauncherSpec::make accepts or rejects the option
};

/// One option of another launcher.
struct LauncherOption {
  /// Names have '-' between words, for any Joint. A name with a leading '-' is typed with a single dash ("-np"). `help`
  /// describes the option in dlaunch.
  OptionSpec row;
  Support support = Support::translated;
  std::string_view variables = {};  ///< names for LauncherSpec::site_variables; the first set variable counts
  const char* alone = nullptr;      ///< the value of an option without its optional value
};

class LauncherJob;  // grammars/launcher_job.h
struct LauncherLine;

/// An option of dlaunch and its value.
struct OwnDefault {
  std::string_view option;
  std::string_view value;
};

/// The separator between the words of a long name.
enum class Joint { either, dash, underscore };

struct LauncherSpec {
  std::string_view name;                    ///< "torchrun"
  std::string_view subcommand = {};         ///< the word before the options, such as launch of `accelerate launch`
  std::span<const LauncherOption> options;  ///< static
  std::string_view variables = {};          ///< prefix of variables with option defaults, "PET_"; may be empty
  Joint joint = Joint::either;
  bool underscores = false;  ///< as_typed() shows '_' between words
  bool abbreviates = true;   ///< a long name may be shortened
  bool getopt = false;       ///< words as for getopt_long()
  /// Reads options from variables that a site may set for all jobs: an unsupported option from a variable is a note,
  /// not an error. May also change the typed options.
  std::vector<ParsedOption> (*site_variables)(std::vector<ParsedOption>& typed,
                                              const std::vector<std::string>& environment) = nullptr;
  bool dense_table = false;                   ///< options with the same help share a row of launcher_table()
  std::span<const OwnDefault> defaults = {};  ///< dlaunch options in effect if no option overrides them
  NodeOptions nodes = {};                     ///< for errors of a job with several nodes
  Result<void> (*replace)(LauncherLine& line) = nullptr;  ///< replaces options by others with the same meaning
  Result<void> (*make)(LauncherJob& job) = nullptr;
};

struct LauncherLine {
  std::vector<ParsedOption> options;  ///< the launcher's options: first from variables, then typed
  std::vector<std::string> program;
  std::vector<std::string> notes;    ///< about options without effect
  const OptionSpec* show = nullptr;  ///< --help or --version: the words after it were not read

  /// Returns the last given option with this name, or null. A flag turned off by a variable is not given.
  const ParsedOption* find(std::string_view name) const;
  /// Returns the option's value, or `standard`.
  std::string value(std::string_view name, std::string_view standard = {}) const;
  /// Returns true if the option was typed, not given by a variable.
  bool typed(std::string_view name) const;
};

Result<LauncherLine> read_launcher_line(const LauncherSpec& launcher, std::span<const std::string> words,
                                        const std::vector<std::string>& environment);

/// Returns the number of words at the front that are dlaunch's own long options and not options of the launcher.
size_t own_options_before(std::span<const std::string> words, const LauncherSpec& launcher);

/// Returns the row with exactly this name, without dashes, or null.
const LauncherOption* find_launcher_option(const LauncherSpec& launcher, std::string_view name);

/// Returns the options for a long name: the option with exactly this name, else all options whose names begin with it.
std::vector<const LauncherOption*> launcher_options_meant(const LauncherSpec& launcher, std::string_view name);

/// Returns the options for a word with a single dash, "-np".
std::vector<const LauncherOption*> single_dash_options_meant(const LauncherSpec& launcher, std::string_view word);

/// Returns a row's name with its dashes, as on the launcher's command line: "--num_gpus", "-np", "-H".
std::string as_typed(const LauncherSpec& launcher, std::string_view name);

/// Returns the text of --help: each option, and its meaning in dlaunch.
std::string launcher_help(const LauncherSpec& launcher);

/// Returns the same as a Markdown table for the documentation.
std::string launcher_table(const LauncherSpec& launcher);

// Splits words as Python's argparse does, for launchers with an argparse command line. PURE.
//
// - A long name, or a word after a single dash ("-np"), may be shortened if the result is unambiguous. An exact name
//   wins.
// - "-r3" and "-r=3" mean "-r 3". Flags may share a dash. A value may begin with '-' only after '=', or as a number.
// - The program is the first word that is neither an option nor a value. All words after the program are arguments.
// - "--" ends the options. Without a "--" before the program, a "--" directly after the program is removed, as in
//   Python 3.11.
//
// For LauncherSpec::getopt the rules are those of getopt_long(): "-n4" and "-n 4", but not "-n=4". A value is the next
// word, even with a leading dash; an optional value is attached. A "--" after the program is kept.

/// Returns the words in the grammar of cli/option_parser.h: "--name" or "--name=VALUE" with the first name of each
/// option, then "--" and the program.
Result<std::vector<std::string>> read_argparse(const LauncherSpec& launcher, std::span<const std::string> words);

}  // namespace dlaunch::cli
