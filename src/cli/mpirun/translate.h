// From other launchers' spellings to dlaunch's own options, right after the walk over the words and before anything
// else looks at them. PURE, but for the files that an option names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/arguments.h"
#include "cli/option_spec.h"
#include "dlaunch/error.h"

namespace dlaunch::cli {

/// What one option of foreign_table() comes to. All values with static life are rows of option_table().
struct Translated {
  std::vector<ParsedOption> here;        ///< in its place
  std::vector<ParsedOption> everywhere;  ///< for every program of `a : b`, weaker than what a program says itself
  std::vector<std::string> notes;        ///< what the user should know, a line each
};

/// `name` of option_table(), as `given` was spelled.
ParsedOption own_option(const ParsedOption& given, std::string_view name, std::string value);

/// Leaves only options of option_table() in the groups.
Result<void> translate_options(std::vector<Group>& groups, const ProcessContext& surroundings,
                               std::vector<std::string>& notes);

}  // namespace dlaunch::cli
