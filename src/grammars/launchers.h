// The launchers with their own option tables. PURE.
#pragma once

#include <vector>

#include "cli/grammar.h"
#include "grammars/launcher_line.h"

namespace dlaunch::cli {

/// Returns null for a grammar with dlaunch's options.
const LauncherSpec* launcher_of(Grammar grammar);

/// Returns the launcher's defaults as options of the weakest source.
std::vector<ParsedOption> defaults_of(const LauncherSpec& launcher);

}  // namespace dlaunch::cli
