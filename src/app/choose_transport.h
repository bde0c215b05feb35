// Chooses the transport: the one named by --transport, else the batch system's own, else ssh.
#pragma once

#include "cli/options.h"
#include "dlaunch/error.h"
#include "dlaunch/host.h"

namespace dlaunch::app {

/// Call before the allocation is made. Sets JobOptions::exec and HostRequest::by_manager if the batch system's own
/// command is the transport. Rejects an unavailable transport, and a start as one of several copies of this job.
Result<void> choose_transport(cli::Options& options);

/// In a batch job: adds the node data that each agent, or its transport command, requires.
void add_manager(const cli::Options& options, plan::Allocation& allocation);

/// In a batch job, adds a remark: the transport, and the option that overrode the batch system's transport or hosts.
/// Call once the hosts' slots are known, if requested.
void add_transport_remark(const cli::Options& options, plan::Allocation& allocation);

}  // namespace dlaunch::app
