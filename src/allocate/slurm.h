// Reads a Slurm job from its variables: nodes, and the number of ranks per node. Pure.
//
// The slots of a node come from the first variable that applies (tested with Slurm 22.05):
//   SLURM_TASKS_PER_NODE        if any node has more than one task: a task is a rank
//   the GPUs of the node        one task per node, and the job has GPUs: the task is for the launcher, and the GPUs
//                               are the slots. The agent counts them: the variables describe a single node only
//   SLURM_TASKS_PER_NODE        one task per node, requested with --ntasks-per-node, --ntasks or --cpus-per-task
//   SLURM_JOB_CPUS_PER_NODE     no request for tasks (`salloc -N 4`)
// In a step of srun, the first variable describes the step. The tasks of a node are then SLURM_NTASKS_PER_NODE, else
// the number that fits into its SLURM_JOB_CPUS_PER_NODE. If the job requested one task, more ranks up to the CPUs of
// the node are not oversubscription.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/hostfile.h"

namespace dlaunch::allocate {

/// The number of the Slurm job around this process.
std::optional<std::string> slurm_job(const std::vector<std::string>& environment);

/// The nodes in Slurm's order; the groups of a heterogeneous job follow each other.
Result<std::vector<HostEntry>> read_slurm(const std::vector<std::string>& environment);

/// The CPUs of the job on each of these nodes; empty: unknown.
Result<std::vector<int>> slurm_cpus(const std::vector<std::string>& environment);

/// The number of processes in this process's step; each of them would run the whole job. 1 in a shell of salloc, in a
/// batch script and in a step of one task.
int slurm_copies(const std::vector<std::string>& environment);

/// The GPUs of the job on each node, by name, from the output of `scontrol show job -d`. An Error for an invalid line.
/// Omits nodes without GPUs.
Result<std::map<std::string, int>> slurm_gpus(const std::string& shown);

}  // namespace dlaunch::allocate
