// Whether a resource manager's job has devices, as far as its variables tell. Which ones a node has, the node says.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "dlaunch/host.h"

namespace dlaunch::allocate {

/// Whether the variables of the job say that it has devices. Flux's resources name them, so they say nothing of it.
bool says_devices(const plan::Manager& manager, const std::vector<std::string>& environment);

/// Whether a Slurm job's GPUs may be spread unevenly (--gpus, --gpus-per-task). A step gets all of its node's only
/// where it names their number.
bool gpus_may_differ(const std::vector<std::string>& environment);

/// Whether a Slurm job's script has GPUs and its variables do not say that it asked for them, as with --exclusive: then
/// a step has none unless it asks.
bool gpus_may_be_unasked(const std::vector<std::string>& environment);

/// Whether `scontrol show job -d` says that the job was asked for with GPUs: then its steps have them.
bool asks_for_gpus(const std::string& shown);

}  // namespace dlaunch::allocate
