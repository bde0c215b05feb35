// The hosts that a resource manager gave this job, from the environment. Pure but for `read_file`.
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

namespace dlaunch::allocate {

/// The one in whose job this process is, and which names hosts.
std::optional<plan::Manager> manager_of(const std::vector<std::string>& environment);

/// Its hosts. What it says but cannot be understood is an Error, never a silent local run.
Result<std::vector<HostEntry>> read_resource_manager(const plan::Manager& manager,
                                                     const std::vector<std::string>& environment,
                                                     const ReadText& read_file);

/// Whether this machine's agent, too, is to be started by the manager's command, as in a step of Slurm's. The script of
/// a job of the other managers is in the job already, and may have no slot to spare there.
bool starts_here_too(plan::Manager::Kind kind);

/// The Error of a process that is one of several copies, each of which would run the whole job.
std::optional<Error> refuse_copies(const plan::Manager& manager, const std::vector<std::string>& environment);

}  // namespace dlaunch::allocate
