// Queries the devices of the nodes of a batch job, before the plan is made.
#pragma once

#include <optional>

#include "cli/options.h"
#include "dlaunch/host.h"
#include "session/host_session.h"

namespace dlaunch::app {

/// Whether agents start by the batch system's own command on nodes without configured devices, and the job's variables
/// or the options indicate devices.
bool needs_devices(const cli::Options& options, const plan::Allocation& allocation);

/// Queries these nodes. A node of a Slurm job has only the devices that Slurm lists there. The devices of a node are
/// shared by its slots, as given by the batch system. If a node has fewer devices than slots, and another node has no
/// devices, ranks are placed by slots. Returns the exit code of a failure; all unreachable hosts are reported together.
std::optional<int> find_devices(session::HostSession& session, plan::Allocation& allocation,
                                const cli::Options& options);

}  // namespace dlaunch::app
