// The hosts that a resource manager gave this job, from what it left in the environment. Pure but for `read_file`.
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

/// Whether one has named hosts.
bool has_resource_manager(const std::vector<std::string>& environment);

/// nullopt where no resource manager is. What it says but cannot be understood is an Error, never a silent local run.
Result<std::optional<std::vector<HostEntry>>> read_resource_manager(const std::vector<std::string>& environment,
                                                                    const ReadText& read_file);

}  // namespace dlaunch::allocate
