// The help texts, which CLI11 composes from the rows of options and subcommands. PURE.
#pragma once

#include <string>

#include "cli/command_spec.h"

namespace dlaunch::cli {

std::string help_text();  ///< --help
std::string man_page();   ///< dlaunch(1), in man(7) macros: --help-man

/// --help of a command that is no job and of those below it. `path` is what was typed: "dlaunch ranktable".
std::string help_text(const CommandSpec& command, const std::string& path);

/// The line for a user who named no program.
std::string usage_hint();

}  // namespace dlaunch::cli
