// The version of this build and of its libraries. PURE.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace dlaunch::report {

std::string version();
std::vector<std::pair<std::string, std::string>> libraries();  ///< name, version
std::string version_text();                                    ///< for --version

}  // namespace dlaunch::report
