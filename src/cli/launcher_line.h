// Another launcher's command line, as its own parser reads it: which of its options were given, and the program. What
// they mean is the launcher's own file's matter (cli/torchrun/torchrun.h). PURE.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/option_spec.h"
#include "dlaunch/error.h"

namespace dlaunch::cli {

/// What an option of another launcher is to dlaunch.
enum class Support {
  translated,  ///< it means here what it means there
  ignored,     ///< it is accepted, changes nothing here, and a note says why
  refused,     ///< LauncherOption::row.help says what to write instead
  allocation,  ///< it asks a resource manager for an allocation: LauncherSpec::make judges it
};

/// One option of another launcher.
struct LauncherOption {
  /// Names with '-' between words, whatever the launcher's joint; one that begins with '-' is a word behind a single
  /// dash ("-np"). `help` says what it is here.
  OptionSpec row;
  Support support = Support::translated;
  std::string_view variables = {};  ///< its default, in the first of these that is set; for LauncherSpec::getopt
  const char* alone = nullptr;      ///< the value where its own is optional and not attached
};

class LauncherJob;  // cli/launcher_job.h

/// An option of dlaunch's own and its value.
struct OwnDefault {
  std::string_view option;
  std::string_view value;
};

/// What stands between the words of a long name.
enum class Joint { either, dash, underscore };

struct LauncherSpec {
  std::string_view name;                    ///< "torchrun"
  std::string_view subcommand = {};         ///< the word before its options, as `accelerate launch` has it
  std::span<const LauncherOption> options;  ///< static
  std::string_view variables = {};          ///< "PET_": each option's default may be in such a variable; empty: none
  Joint joint = Joint::either;
  bool underscores = false;  ///< its users write '_' between words where either may stand
  bool abbreviates = true;   ///< a long name may be cut short
  bool getopt = false;       ///< its words are read as getopt_long() reads them, and its variables as srun does
  bool dense_table = false;  ///< options of which the same is said share a row of its table
  std::span<const OwnDefault> defaults = {};  ///< what it does where no option says otherwise
  Result<void> (*make)(LauncherJob& job) = nullptr;
};

struct LauncherLine {
  std::vector<ParsedOption> options;  ///< the launcher's own, variables' before typed ones
  std::vector<std::string> program;
  std::vector<std::string> notes;    ///< about options that change nothing here
  const OptionSpec* show = nullptr;  ///< --help or --version: nothing after it was read

  /// The last one given; null: none. A flag that a variable turned off is not given.
  const ParsedOption* find(std::string_view name) const;
  /// Its value, or `standard`.
  std::string value(std::string_view name, std::string_view standard = {}) const;
  /// Whether it was typed, and not given by a variable.
  bool typed(std::string_view name) const;
};

Result<LauncherLine> read_launcher_line(const LauncherSpec& launcher, std::span<const std::string> words,
                                        const std::vector<std::string>& environment);

/// Where `words` begin with long options of dlaunch's own that the launcher has not: how many words they are.
size_t own_options_before(std::span<const std::string> words, const LauncherSpec& launcher);

/// The row with exactly this name, a letter or a long name without its dashes; null: none.
const LauncherOption* find_launcher_option(const LauncherSpec& launcher, std::string_view name);

/// The options that a long name may mean: the one that is called so, else all whose names begin with it.
std::vector<const LauncherOption*> launcher_options_meant(const LauncherSpec& launcher, std::string_view name);

/// The same for a word behind a single dash, "-np".
std::vector<const LauncherOption*> single_dash_options_meant(const LauncherSpec& launcher, std::string_view word);

/// "--num_gpus", "-np", "-H": a name of a row as the launcher's users type it.
std::string as_typed(const LauncherSpec& launcher, std::string_view name);

/// What --help prints: each option, and what it is here.
std::string launcher_help(const LauncherSpec& launcher);

/// The same as a table for the documents.
std::string launcher_table(const LauncherSpec& launcher);

}  // namespace dlaunch::cli
