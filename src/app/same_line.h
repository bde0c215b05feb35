// --same-line: the same command line runs on every node of a job. Node 0 launches, on itself and on all that connect to
// it; the others serve with an agent each, and end as the job does.
#pragma once

#include <spdlog/fwd.h>

#include <functional>
#include <string>

#include "cli/options.h"
#include "dlaunch/error.h"
#include "dlaunch/host.h"
#include "transport/transport.h"

namespace dlaunch::app {

/// Runs the job whose hosts the options name; `nodes` reaches those that connected to us, and is null in a job that is
/// only planned.
using RunJob = std::function<Result<int>(cli::Options options, transport::Transport* nodes)>;

/// This node's part: its own `run` on node 0, an agent's on the others. `key` is DLAUNCH_KEY's value. The answer is the
/// job's exit code on all of them.
Result<int> run_same_line(cli::Options options, const std::string& key, spdlog::logger& log, const RunJob& run);

/// In a job that is only planned the other nodes have not come: takes them to be as this one.
void assume_nodes_as_here(plan::Allocation& allocation);

}  // namespace dlaunch::app
