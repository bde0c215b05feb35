// Finds programs: those that are built and installed with dlaunch, and others by PATH.
#pragma once

#include <string>

namespace dlaunch::sys {

/// The path of a program beside the running one (as built) or in libexec (as installed). Empty: it is in neither.
std::string installed_program(const std::string& name);

/// `path`: as PATH, "/usr/bin:/bin".
bool is_in_path(const std::string& name, const std::string& path);

}  // namespace dlaunch::sys
