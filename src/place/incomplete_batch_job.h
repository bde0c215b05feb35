// Detects a batch job without a list of its hosts in the environment. Pure.
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

namespace dlaunch::place {

/// The Error for such a job if manager_of() finds no manager: never a silent local run. nullopt in a rank of dlaunch,
/// because a rank has some of these variables.
std::optional<Error> refuse_incomplete_batch_job(const std::vector<std::string>& environment);

}  // namespace dlaunch::place
