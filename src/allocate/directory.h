// A directory's entries, without C++ streams or <filesystem>, which would double the agent's size.
#pragma once

#include <string>
#include <vector>

namespace dlaunch::allocate {

/// Names in ascending order, without those that begin with a dot; none when it cannot be read.
std::vector<std::string> entries_of(const std::string& path);

}  // namespace dlaunch::allocate
