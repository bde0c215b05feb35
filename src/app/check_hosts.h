// `dlaunch check`: reaches every host and says what is there and what is not.
#pragma once

#include "cli/options.h"
#include "output/standard_streams.h"
#include "plan/allocation.h"

namespace dlaunch::app {

/// The exit code: 0 when all holds, 125 when a host could not be reached, else 1.
int check_hosts(const cli::Options& options, const plan::Allocation& allocation, output::StandardStreams& streams);

}  // namespace dlaunch::app
