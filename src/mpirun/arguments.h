// Splits a command line into options and programs. The meaning of an option is not known here.
//
// The rules are those of mpirun:
// - Long names have one dash or two.
// - A value is the next word, even with a leading dash, or follows '='. -mca and similar options take two words. A flag
//   has no value, or =true or =false. A number may follow a short name directly: -n4, -np4.
// - The first word that is not an option is the program. All words after the program are its arguments, unchanged.
// - A lone ':' ends a program and begins the next group. "--" ends the options of a group. Empty groups are ignored.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/option_parser.h"
#include "cli/option_spec.h"
#include "dlaunch/error.h"

namespace dlaunch::cli {

// The options that dlaunch's own grammar accepts: the options of dlaunch, of mpirun and Hydra, and some of other
// launchers. PURE.

/// Options of mpirun and Hydra. translate_options() replaces them by options of option_table(). The help omits them.
std::span<const OptionSpec> foreign_table();
std::span<const FoundOption> foreign_names();

/// Finds a row of option_table() or foreign_table(). `name` has no dashes.
FoundOption find_known_option(std::string_view name);

/// As find_known_option(), and finds rows of familiar_table(). Also accepts '_' for '-' in `name`.
FoundOption find_typed_option(std::string_view name);

struct Arguments {
  std::vector<Group> groups;            ///< not empty; the first group has the job's options
  const OptionSpec* show = nullptr;     ///< --help or a similar option: the words after it were not read
  std::vector<std::string> unset = {};  ///< variables to remove from the job's environment
};

/// Returns the error for an option of another launcher: `spelled` "--tee", `name` "tee". nullopt: no launcher has it.
using OptionOfLaunchers = std::optional<Error> (*)(const std::string& spelled, std::string_view name);

Result<Arguments> parse_arguments(std::span<const std::string> words, OptionOfLaunchers of_launchers);

/// Parses the lines of an --app file into groups. A ':' within a line begins another group, as in Hydra's files.
Result<std::vector<Group>> parse_app_file(std::string_view text, const std::string& path,
                                          OptionOfLaunchers of_launchers);

}  // namespace dlaunch::cli
