// Keeps the log directories of earlier jobs (--keep-logs): renames PATH to PATH.1, PATH.1 to PATH.2, and so on.
#pragma once

#include <cstdint>
#include <string>

namespace dlaunch::output {

/// Returns the failed step, with errno set, or an empty text. Removes the oldest directory if `keep` of them exist.
std::string keep_directories(const std::string& path, std::uint32_t keep);

}  // namespace dlaunch::output
