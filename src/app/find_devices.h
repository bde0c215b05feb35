// Asks the nodes of a resource manager's job which devices they have in it, before there is a plan.
#pragma once

#include <optional>

#include "app/host_session.h"
#include "cli/options.h"
#include "dlaunch/host.h"

namespace dlaunch::app {

/// Whether the manager's own command starts agents on nodes whose devices nobody named, while the job's variables say
/// that it has some, or the options need them.
bool needs_devices(const cli::Options& options, const plan::Allocation& allocation);

/// Asks those nodes. A node of a Slurm job has only the devices that Slurm lists there. As many ranks as the manager
/// gave a node slots share its devices; where they are fewer than slots on some node and none on another, ranks go
/// where the slots are. Returns the exit code when it failed; all hosts that cannot be reached are reported together.
std::optional<int> find_devices(HostSession& session, plan::Allocation& allocation, const cli::Options& options);

}  // namespace dlaunch::app
