// Reads a Slurm job from its variables: nodes, and the number of ranks per node. Pure.
//
// The number of slots of a node is the first of these numbers that applies (tested with Slurm 22.05):
// - SLURM_TASKS_PER_NODE, if any node has more than one task. Each task is a rank.
// - The number of GPUs of the node, if each node has one task and the job has GPUs. The task is for the launcher. The
//   agent counts the GPUs, because the variables describe only one node.
// - SLURM_TASKS_PER_NODE, if the job requested one task per node with --ntasks-per-node, --ntasks or --cpus-per-task.
// - SLURM_JOB_CPUS_PER_NODE, if the job did not request tasks (`salloc -N 4`).
//
// In a step of srun, SLURM_TASKS_PER_NODE describes the step. The number of tasks of a node is then
// SLURM_NTASKS_PER_NODE, else the number of tasks that fit into SLURM_JOB_CPUS_PER_NODE. If the job requested one task,
// more ranks up to the CPUs of the node are not oversubscription.
#pragma once

#include "place/manager_row.h"

namespace dlaunch::place {

/// The number of the Slurm job around this process.
std::optional<std::string> slurm_job(const std::vector<std::string>& environment);

/// The nodes in Slurm's order; the groups of a heterogeneous job follow each other.
Result<std::vector<hosts::HostEntry>> read_slurm(const std::vector<std::string>& environment);

/// The CPUs of the job on each of these nodes; empty: unknown.
Result<std::vector<int>> slurm_cpus(const std::vector<std::string>& environment);

/// The number of processes in this process's step; each of them would run the whole job. 1 in a shell of salloc, in a
/// batch script and in a step of one task.
int slurm_copies(const std::vector<std::string>& environment);

/// The GPUs of the job on each node, by name, from the output of `scontrol show job -d`. An Error for an invalid line.
/// Omits nodes without GPUs.
Result<std::map<std::string, int>> slurm_gpus(const std::string& shown);

}  // namespace dlaunch::place
