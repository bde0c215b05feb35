// The rank table of the host we are on, or of a list of hosts.
#pragma once

#include <spdlog/fwd.h>

#include <string>
#include <vector>

#include "cli/option_spec.h"
#include "cli/ranktable_arguments.h"
#include "dlaunch/error.h"
#include "output/standard_streams.h"

namespace dlaunch::app {

struct MadeTable {
  std::string text;
  std::string name;                ///< hccl_tools.py's for it
  std::vector<std::string> notes;  ///< what was chosen without being asked, a line each
};

/// Asks the kernel for our address and the driver for the devices'; writes nothing.
Result<MadeTable> make_on_this_host(const cli::RanktableMake& command);

/// Reaches the hosts that command.job_words name and has their agents ask. All or none: an Error names those that
/// something is missing of.
Result<MadeTable> make_over_hosts(const cli::RanktableMake& command, const cli::ProcessContext& surroundings,
                                  output::StandardStreams& streams, spdlog::logger& log);

}  // namespace dlaunch::app
