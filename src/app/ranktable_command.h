// `dlaunch ranktable make|check|merge`: rank tables for Ascend devices. docs/rank-tables.md is the user's side.
#pragma once

#include <spdlog/fwd.h>

#include <string>
#include <vector>

#include "cli/option_spec.h"
#include "dlaunch/error.h"
#include "output/standard_streams.h"

namespace dlaunch::app {

/// `args` are the words after `ranktable`. Returns the exit code.
Result<int> run_ranktable(const std::vector<std::string>& args, const cli::ProcessContext& context,
                          output::StandardStreams& streams, spdlog::logger& log);

}  // namespace dlaunch::app
