// Finds different names of one file: names with symbolic links, and hard links.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace dlaunch::session {

/// For each path a text that is equal for names of one file: device and inode of the nearest existing directory, and
/// the rest of the path; of an existing file, its own device and inode. Empty for a device or FIFO. A helper process
/// looks; nullopt if a disk does not respond within 5 s.
std::optional<std::vector<std::string>> file_identities(const std::vector<std::string>& paths);

}  // namespace dlaunch::session
