// The launchers with their own option tables. PURE.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/grammar.h"
#include "dlaunch/error.h"
#include "grammars/launcher_line.h"

namespace dlaunch::cli {

/// Returns null for a grammar with dlaunch's options.
const LauncherSpec* launcher_of(Grammar grammar);

/// The error for an option of another launcher in dlaunch's own grammar: `spelled` "--tee", `name` "tee". Returns
/// nullopt if no launcher has the option.
std::optional<Error> option_of_launchers(const std::string& spelled, std::string_view name);

/// Returns the launcher's defaults as options of the weakest source.
std::vector<ParsedOption> defaults_of(const LauncherSpec& launcher);

}  // namespace dlaunch::cli
