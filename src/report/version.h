// What this build is, and of what. PURE.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace dlaunch::report {

std::string version();
std::vector<std::pair<std::string, std::string>> libraries();  ///< name, version
std::string version_text();                                    ///< --version

}  // namespace dlaunch::report
