// Finds different names of one file: names with symbolic links, and hard links.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sys/io.h"

namespace dlaunch::session {

struct FileIdentity {
  /// Equal for names of one file: device and inode of the nearest existing directory, and the rest of the path; of an
  /// existing file, its own device and inode. Empty for a device or FIFO.
  std::string file;
  std::string path;  ///< without links; empty if not asked for
};

/// The result has the order of the paths. A helper process reads the disk. Returns nullopt if a disk does not respond
/// within 5 s, or if `wait` ends early.
std::optional<std::vector<FileIdentity>> file_identities(const std::vector<std::string>& paths, bool with_paths,
                                                         const sys::Wait& wait);

}  // namespace dlaunch::session
