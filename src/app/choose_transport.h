// How a job's hosts are reached: as --transport says, or as the place offers it.
#pragma once

#include "cli/options.h"
#include "dlaunch/error.h"
#include "dlaunch/host.h"

namespace dlaunch::app {

/// Before the allocation is made. Sets JobOptions::exec and HostRequest::by_manager where a resource manager's own
/// command is the way. Refuses a way that is not there, and to be one of several copies of this job.
Result<void> choose_transport(cli::Options& options);

/// In a resource manager's job: adds what each node, or the command that leads to it, is to know of its place.
void add_manager(const cli::Options& options, plan::Allocation& allocation);

/// There, also where the job's hosts are not used: adds the remark that says which way it is, and what chose another
/// one than the manager's. Once the hosts' slots are known, as far as they are asked for.
void add_transport_remark(const cli::Options& options, plan::Allocation& allocation);

}  // namespace dlaunch::app
