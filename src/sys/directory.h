// The entries of a directory, by opendir: the agent is small because it has no <filesystem>.
#pragma once

#include <dirent.h>

#include <functional>
#include <string>
#include <vector>

namespace dlaunch::sys {

/// Calls visit(entry) for each entry but "." and ".." until it returns false. Returns 0 or an errno.
int for_each_entry(const std::string& path, const std::function<bool(const dirent&)>& visit);

/// The names in ascending order, without those that begin with a dot; none when the directory cannot be read.
std::vector<std::string> entries_of(const std::string& path);

}  // namespace dlaunch::sys
