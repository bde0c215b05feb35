// The launchers whose lines have options of their own, after dlaunch's, instead of dlaunch's under other names. PURE.
#pragma once

#include <vector>

#include "cli/command_line.h"
#include "cli/launcher_line.h"

namespace dlaunch::cli {

/// Null where the grammar's options are dlaunch's own.
const LauncherSpec* launcher_of(Grammar grammar);

/// What the launcher does where no option says otherwise: as options, weaker than any other source.
std::vector<ParsedOption> defaults_of(const LauncherSpec& launcher);

}  // namespace dlaunch::cli
