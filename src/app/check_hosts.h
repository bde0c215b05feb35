// `dlaunch check`: connects to every host and reports what is there and what is missing.
#pragma once

#include <spdlog/fwd.h>

#include "cli/options.h"
#include "dlaunch/error.h"
#include "dlaunch/host.h"
#include "output/standard_streams.h"

namespace dlaunch::app {

/// Returns the exit code: 0 when all is well, 125 when a host could not be reached, else 1.
Result<int> check_hosts(const cli::Options& options, const plan::Allocation& allocation,
                        output::StandardStreams& streams, spdlog::logger& log);

}  // namespace dlaunch::app
