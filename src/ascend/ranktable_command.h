// `dlaunch ranktable make|check|merge`: rank tables for Ascend devices. User documentation: docs/rank-tables.md.
#pragma once

#include <spdlog/fwd.h>

#include <string>
#include <vector>

#include "cli/option_spec.h"
#include "dlaunch/error.h"
#include "dlaunch/listener.h"
#include "output/standard_streams.h"

namespace dlaunch::ascend {

/// `args` are the arguments after `ranktable`. The listener receives the progress of the connections to other hosts.
/// Returns the exit code.
Result<int> run_ranktable(const std::vector<std::string>& args, const cli::ProcessContext& context, Listener& listener,
                          output::StandardStreams& streams, spdlog::logger& log);

}  // namespace dlaunch::ascend
