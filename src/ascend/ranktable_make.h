// Makes the rank table of this host, or of a list of hosts.
#pragma once

#include <spdlog/fwd.h>

#include <string>
#include <vector>

#include "ascend/ranktable_arguments.h"
#include "cli/option_spec.h"
#include "dlaunch/error.h"
#include "dlaunch/listener.h"
#include "output/standard_streams.h"

namespace dlaunch::ascend {

struct MadeTable {
  std::string text;
  std::string name;                ///< the file name that hccl_tools.py would use
  std::vector<std::string> notes;  ///< about automatic choices, one line per note
};

/// Queries the kernel for this host's address and the driver for the devices' addresses; writes nothing.
Result<MadeTable> make_on_this_host(const RanktableMake& command);

/// Connects to the hosts in command.job_words and queries their agents. An Error lists all hosts with missing data;
/// there is no partial table.
Result<MadeTable> make_over_hosts(const RanktableMake& command, const cli::ProcessContext& context, Listener& listener,
                                  output::StandardStreams& streams, spdlog::logger& log);

}  // namespace dlaunch::ascend
