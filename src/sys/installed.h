// Finds the programs that are built and installed with dlaunch.
#pragma once

#include <string>

namespace dlaunch::sys {

/// Beside the program that runs, as it is built, or in libexec, where it is installed. Empty: it is in neither.
std::string installed_program(const std::string& name);

}  // namespace dlaunch::sys
