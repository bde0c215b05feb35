// Finds programs: those that are built and installed with dlaunch, and others by PATH.
#pragma once

#include <string>

namespace dlaunch::sys {

/// The path of a program beside the running one (as built) or in libexec (as installed). Empty: it is in neither.
std::string installed_program(const std::string& name);

/// `path`: as PATH, "/usr/bin:/bin". A name with a slash is a path itself.
bool is_in_path(const std::string& name, const std::string& path);

/// How to call the first program of this name in `path` that is not this one, which a link may put there: the name, or
/// its path where a link stands before it. Empty: there is none.
std::string other_program(const std::string& name, const std::string& path);

}  // namespace dlaunch::sys
