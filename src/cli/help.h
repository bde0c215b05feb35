// What dlaunch says of itself, all of it from the option table. PURE.
#pragma once

#include <string>

namespace dlaunch::cli {

std::string help_text();  ///< --help
std::string man_page();   ///< dlaunch(1), in man(7) macros: --help-man

/// The line for one who named no program.
std::string usage_hint();

}  // namespace dlaunch::cli
