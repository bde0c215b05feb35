// What dlaunch says of itself: CLI11 puts it together from the rows of the options and the subcommands. PURE.
#pragma once

#include <string>

#include "cli/command_spec.h"

namespace dlaunch::cli {

std::string help_text();  ///< --help
std::string man_page();   ///< dlaunch(1), in man(7) macros: --help-man

/// --help of a command that is no job, and of those below it. `path`: what was typed, "dlaunch ranktable".
std::string help_text(const CommandSpec& command, const std::string& path);

/// The line for one who named no program.
std::string usage_hint();

}  // namespace dlaunch::cli
