// `dlaunch chaos`: reads its arguments, runs a job with faults, and prints the verdict. User documentation:
// docs/test-recovery.md.
#pragma once

#include <spdlog/fwd.h>

#include <string>
#include <vector>

#include "cli/option_spec.h"
#include "dlaunch/error.h"
#include "output/standard_streams.h"

namespace dlaunch::app {

/// `args` are the arguments after `chaos`. Returns the exit code.
Result<int> run_chaos(const std::vector<std::string>& args, const cli::ProcessContext& context,
                      output::StandardStreams& streams, spdlog::logger& log);

}  // namespace dlaunch::app
