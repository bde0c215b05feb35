// Reads the hosts of this job from a resource manager's variables. Pure, except for `read_file`.
//
//   Slurm  slurm.h
//   Grid Engine  grid_engine.h
//   PBS, Cobalt  PBS_NODEFILE, COBALT_NODEFILE, in which a name stands once for each slot; PBS_GPUFILE of Torque
//   LSF  lsf.h
//   Kubernetes  mpijob.h
//   Flux  its instance must be asked: HostRequest::of_manager
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/hostfile.h"

namespace dlaunch::place {

/// The manager of the job around this process, if it lists hosts.
std::optional<plan::Manager> manager_of(const std::vector<std::string>& environment);

/// The hosts of the job. Invalid values are an Error: never a silent local run.
Result<std::vector<hosts::HostEntry>> read_resource_manager(const plan::Manager& manager,
                                                            const std::vector<std::string>& environment,
                                                            const hosts::ReadText& read_file);

/// Whether the manager's command must also start the agent of this machine, as in a Slurm step. With other managers,
/// the script is already in the job, and may have no free slot there.
bool starts_here_too(plan::Manager::Kind kind);

/// The Error for a process that is one of several copies: each copy would run the whole job.
std::optional<Error> refuse_copies(const plan::Manager& manager, const std::vector<std::string>& environment);

}  // namespace dlaunch::place
