// Reads the files of --stage and packs an archive for the agents (wire/archive.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch::session {

/// Each of `patterns` is the absolute path of a file, of a directory with its content, or a pattern with at least one
/// match. The archive contains their base names. A named link is replaced by its target; a link within a directory
/// stays a link. Null without files.
Result<std::shared_ptr<const std::string>> read_staged(const std::vector<std::string>& patterns);

}  // namespace dlaunch::session
