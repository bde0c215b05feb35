// A resource manager's job that is seen in the environment without the list of its hosts. PURE.
//
//   Slurm  SLURM_JOB_ID with a number of nodes or tasks; SLURM_JOB_ID alone is also what a user sets for srun
//   Grid Engine  PE_HOSTFILE without SGE_ROOT; JOB_ID, SGE_ROOT and NHOSTS above 1 without PE_HOSTFILE. SGE_ROOT alone
//                stands in login shells, and a job of one host may have no parallel environment.
//   PBS  PBS_JOBID and PBS_ENVIRONMENT
//   Cobalt, LSF  their job's number, which nobody else sets
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch::allocate {

/// Its Error, where manager_of() knows no manager: never a silent local run. None in a rank of dlaunch's, which has a
/// part of these variables.
std::optional<Error> refuse_incomplete_batch_job(const std::vector<std::string>& environment);

}  // namespace dlaunch::allocate
