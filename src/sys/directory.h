// The entries of a directory, by readdir. <filesystem> would make the agent larger.
#pragma once

#include <dirent.h>

#include <functional>
#include <string>
#include <vector>

#include "sys/fd.h"

namespace dlaunch::sys {

/// Calls visit(entry) for each entry except "." and ".." until it returns false. Returns 0 or an errno.
int for_each_entry(const std::string& path, const std::function<bool(const dirent&)>& visit);
/// Like the function above, for an open directory; an empty Fd: errno of the failed open.
int for_each_entry(Fd directory, const std::function<bool(const dirent&)>& visit);

/// The names in ascending order, without names that start with a dot; empty if the directory cannot be read.
std::vector<std::string> entries_of(const std::string& path);

}  // namespace dlaunch::sys
