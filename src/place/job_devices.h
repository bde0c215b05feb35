// Detects devices of a batch job from its variables. Each node reports its devices later. Pure.
#pragma once

#include <string>
#include <vector>

#include "dlaunch/host.h"

namespace dlaunch::place {

/// Whether the variables of the job show devices. False in Flux: its resource list has the devices.
bool says_devices(const plan::Manager& manager, const std::vector<std::string>& environment);

/// Whether a Slurm job's GPUs may be spread unevenly (--gpus, --gpus-per-task). A step gets all GPUs of its node only
/// if the step requests their number.
bool gpus_may_differ(const std::vector<std::string>& environment);

/// Whether the script of a Slurm job has GPUs but its variables do not show a request for them, such as with
/// --exclusive. In such a job a step gets GPUs only if it requests them.
bool gpus_may_be_unasked(const std::vector<std::string>& environment);

/// Whether `scontrol show job -d` shows a request for GPUs; in such a job every step has GPUs.
bool asks_for_gpus(const std::string& shown);

}  // namespace dlaunch::place
