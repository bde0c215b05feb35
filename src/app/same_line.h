// --same-line: the same command line runs on every node of a job. Node 0 launches the job, on itself and on all
// connected nodes; each other node runs an agent, and ends when the job ends.
#pragma once

#include <spdlog/fwd.h>

#include <functional>
#include <string>

#include "app/run.h"
#include "cli/options.h"
#include "dlaunch/error.h"
#include "dlaunch/host.h"
#include "place/place.h"
#include "transport/transport.h"

namespace dlaunch::app {

/// Runs the job on the hosts in the options; `nodes` is the transport to the connected nodes, null in a dry run.
using RunJob = std::function<Result<End>(const cli::Options& options, transport::Transport* nodes)>;

/// Runs this node's part: `run` on node 0, an agent on other nodes. `key` is the value of DLAUNCH_KEY. Returns the
/// job's exit code on all nodes.
Result<End> run_same_line(const cli::Options& options, const place::Place& place, const std::string& key,
                          spdlog::logger& log, const RunJob& run);

}  // namespace dlaunch::app
