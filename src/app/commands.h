// The subcommands that this module runs: `chaos`, `check`, `completion` and `stacks`. Each returns the exit code.
#pragma once

#include <spdlog/fwd.h>

#include <string>
#include <vector>

#include "cli/option_spec.h"
#include "cli/options.h"
#include "dlaunch/error.h"
#include "dlaunch/host.h"
#include "output/standard_streams.h"

namespace dlaunch::app {

/// Runs a job with faults and prints the verdict (docs/test-recovery.md). `args` are the arguments after `chaos`.
Result<int> run_chaos(const std::vector<std::string>& args, const cli::ProcessContext& context,
                      output::StandardStreams& streams, spdlog::logger& log);

/// Connects to every host and reports the host's facts and missing requirements. Returns 0 if all checks pass, 125 if a
/// host is unreachable, else 1.
Result<int> check_hosts(const cli::Options& options, const plan::Allocation& allocation,
                        output::StandardStreams& streams, spdlog::logger& log);

/// Prints the stacks of processes on this machine, or of a job's ranks (docs/find-a-hang.md). `args` are the arguments
/// after `stacks`.
Result<int> run_stacks(const std::vector<std::string>& args, output::StandardStreams& streams, spdlog::logger& log);

/// `dlaunch completion` and `dlaunch __complete`: prints a script, or the candidates for the last of `args`.
Result<int> run_completion(cli::Verb verb, const std::vector<std::string>& args, output::StandardStreams& streams);

}  // namespace dlaunch::app
