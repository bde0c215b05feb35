// Reads the files of --stage, packs an archive for the agents (wire/archive.h), and checks the names.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/job_options.h"
#include "dlaunch/plan.h"

namespace dlaunch::session {

/// Each of `patterns` is the absolute path of a file, of a directory with its content, or a pattern with at least one
/// match. The archive contains their base names. A named link is replaced by its target; a link within a directory
/// stays a link. Null without files.
Result<std::shared_ptr<const std::string>> read_staged(const std::vector<std::string>& patterns);

/// Rejects a staged file in place of a file that dlaunch writes into a rank directory: the marker, env.log, a log file.
Result<void> check_staged_names(const JobOptions& options, const plan::Plan& plan);

}  // namespace dlaunch::session
