// `dlaunch chaos`: from its words to its verdict. docs/test-recovery.md is the user's side.
#pragma once

#include <spdlog/fwd.h>

#include <string>
#include <vector>

#include "cli/option_spec.h"
#include "dlaunch/error.h"
#include "output/standard_streams.h"

namespace dlaunch::app {

/// `args` are the words after `chaos`. Returns the exit code.
Result<int> run_chaos(const std::vector<std::string>& args, const cli::ProcessContext& context,
                      output::StandardStreams& streams, spdlog::logger& log);

}  // namespace dlaunch::app
