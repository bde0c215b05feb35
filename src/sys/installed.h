// Finds programs: those built and installed with dlaunch, and others in PATH.
#pragma once

#include <string>

namespace dlaunch::sys {

/// The path of a program next to the running one (in a build) or in libexec (installed). Empty: not found.
std::string installed_program(const std::string& name);

/// `path`: like PATH, "/usr/bin:/bin". A name with a slash is a path.
bool is_in_path(const std::string& name, const std::string& path);

/// The name for calling the first other program of this name in `path`. A link to this program does not count. The
/// result is a path if a link to this program comes first in `path`. Empty: not found.
std::string other_program(const std::string& name, const std::string& path);

}  // namespace dlaunch::sys
