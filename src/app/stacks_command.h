// `dlaunch stacks`: prints the stacks of processes on this machine, or of a job's ranks. User documentation:
// docs/find-a-hang.md.
#pragma once

#include <spdlog/fwd.h>

#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "output/standard_streams.h"

namespace dlaunch::app {

/// `args` are the arguments after `stacks`. Returns the exit code.
Result<int> run_stacks(const std::vector<std::string>& args, output::StandardStreams& streams, spdlog::logger& log);

}  // namespace dlaunch::app
