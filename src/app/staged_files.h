// The files of --stage, read here and packed for the agents (wire/archive.h).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch::app {

/// Each of `patterns` is the absolute name of a file, or of a directory with all that is in it, or a pattern that some
/// match. In the archive they have their last names. A link that is named stands for what it points to; one within a
/// directory stays a link. Null when there are none.
Result<std::shared_ptr<const std::string>> read_staged(const std::vector<std::string>& patterns);

}  // namespace dlaunch::app
