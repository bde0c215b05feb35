// The hosts that a resource manager gave this job, from the environment. Pure but for `read_file`.
//
//   Slurm  SLURM_JOB_NODELIST (SLURM_NODELIST) with SLURM_TASKS_PER_NODE, else SLURM_JOB_CPUS_PER_NODE, else
//          SLURM_CPUS_ON_NODE for each
//   PBS    PBS_NODEFILE, in which a name stands once for each slot
//   LSF    LSB_MCPU_HOSTS, "host slots host slots …"
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/hostfile.h"

namespace dlaunch::allocate {

/// Whether a resource manager has named hosts.
bool has_resource_manager(const std::vector<std::string>& environment);

/// nullopt without a resource manager. Variables that cannot be understood are an Error, never a silent local run.
Result<std::optional<std::vector<HostEntry>>> read_resource_manager(const std::vector<std::string>& environment,
                                                                    const ReadText& read_file);

}  // namespace dlaunch::allocate
