// Slurm: its row, the end of a job, and the time between TERM and KILL. Pure.
//
//   slurm_hosts.h  the nodes and slots of the job
//   slurm_gpus.h   its GPUs
//   slurm_step.h   srun's command line for agents
#pragma once

#include "place/manager_row.h"

namespace dlaunch::place {

extern const ManagerRow kSlurm;

/// The end of the job, in seconds since the epoch: SLURM_JOB_END_TIME.
std::optional<std::int64_t> job_end(const Environment& environment);

/// The seconds between TERM and KILL of Slurm, from slurm.conf or the output of `scontrol show config`. nullopt: the
/// text does not set KillWait, or includes another file.
std::optional<int> slurm_kill_wait(std::string_view configuration);

}  // namespace dlaunch::place
