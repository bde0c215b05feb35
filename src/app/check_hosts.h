// `dlaunch check`: connects to every host and reports the host's facts and missing requirements.
#pragma once

#include <spdlog/fwd.h>

#include "cli/options.h"
#include "dlaunch/error.h"
#include "dlaunch/host.h"
#include "output/standard_streams.h"

namespace dlaunch::app {

/// Returns the exit code: 0 if all checks pass, 125 if a host is unreachable, else 1.
Result<int> check_hosts(const cli::Options& options, const plan::Allocation& allocation,
                        output::StandardStreams& streams, spdlog::logger& log);

}  // namespace dlaunch::app
