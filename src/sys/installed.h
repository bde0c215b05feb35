// Finds the programs that are built and installed with dlaunch.
#pragma once

#include <string>

namespace dlaunch::sys {

/// The path of a program beside the running one (as built) or in libexec (as installed). Empty: it is in neither.
std::string installed_program(const std::string& name);

}  // namespace dlaunch::sys
