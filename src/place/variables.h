// The names of the variables that batch systems and their launchers set for the job, a node or a task. Also part of the
// agent. Pure.
#pragma once

#include <string_view>

namespace dlaunch::place {

/// A variable of the job around dlaunch. On other hosts, the value of this process would be wrong.
bool describes_job(std::string_view name);

/// The same, but a launcher passes the variable to the tasks that it starts itself: not in Slurm, whose srun passes all
/// variables of the job.
bool describes_job_of_other_system(std::string_view name);

/// A variable whose value differs between the nodes of the job: ranks get the value of their own node.
bool describes_node(std::string_view name);

/// A variable that identifies a task of srun. A rank with the variable would join the step.
bool identifies_srun_task(std::string_view name);

/// The number of the step of srun. With --env-for slurm, ranks get the step of their agent.
bool numbers_srun_step(std::string_view name);

/// The process id of a task of srun.
bool is_pid_of_srun_task(std::string_view name);

/// A variable of every task of srun, and of every rank with the variables of --env-for slurm.
bool counts_srun_tasks(std::string_view name);

/// A variable of the whole Slurm job, with a name like a variable of a step. srun passes the variable on.
inline constexpr std::string_view kTasksPerNode = "SLURM_NTASKS_PER_NODE";

/// Of Grid Engine. A launcher started by a rank would use all hosts of the job, and start itself by qrsh.
inline constexpr std::string_view kHostsOfJob = "PE_HOSTFILE";

/// plan::Manager::name of Slurm, whose variables --env-for slurm sets.
inline constexpr std::string_view kSlurmName = "Slurm";

/// The number of the Slurm job.
inline constexpr std::string_view kSlurmJob = "SLURM_JOB_ID";

/// The name of the node in Slurm.
inline constexpr std::string_view kSlurmNode = "SLURMD_NODENAME";

/// The number of the LSF job.
inline constexpr std::string_view kLsfJob = "LSB_JOBID";

}  // namespace dlaunch::place
