// `dlaunch stacks`: what processes of this machine, or the ranks of a job, do now. docs/find-a-hang.md is the user's
// side.
#pragma once

#include <spdlog/fwd.h>

#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "output/standard_streams.h"

namespace dlaunch::app {

/// `args` are the words after `stacks`. Returns the exit code.
Result<int> run_stacks(const std::vector<std::string>& args, output::StandardStreams& streams, spdlog::logger& log);

}  // namespace dlaunch::app
