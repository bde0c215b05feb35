// A Slurm job as its variables tell of it: nodes, and how many ranks each may have. Pure.
//
// A node's slots, the first of these that says it (Slurm 22.05 was asked what it sets for which option):
//   SLURM_TASKS_PER_NODE        where any node has more than one task: a task is a rank
//   what is there               one task a node, and the job has GPUs: the one task is the launcher's place, and the
//                               node's own GPUs are its slots. The node is asked: the variables tell of one node only
//   SLURM_TASKS_PER_NODE        one task a node was asked for, by --ntasks-per-node, --ntasks or --cpus-per-task
//   SLURM_JOB_CPUS_PER_NODE     nobody asked for tasks (`salloc -N 4`)
// In a step of srun's the first of them tells of that step. There a node's tasks are SLURM_NTASKS_PER_NODE, else as
// many as its SLURM_JOB_CPUS_PER_NODE have room for. Where one task was asked for, more ranks, up to the node's CPUs,
// are no oversubscription.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/hostfile.h"

namespace dlaunch::allocate {

/// The number of the Slurm job that this process is in.
std::optional<std::string> slurm_job(const std::vector<std::string>& environment);

/// Its nodes in its order; those of a heterogeneous job's groups one after the other.
Result<std::vector<HostEntry>> read_slurm(const std::vector<std::string>& environment);

/// The CPUs that the job has on each of those nodes; empty: nothing tells it.
Result<std::vector<int>> slurm_cpus(const std::vector<std::string>& environment);

/// How many processes of its step there are, each of which would run the whole job: 1 in a shell of salloc, in a batch
/// script and in a step of one task.
int slurm_copies(const std::vector<std::string>& environment);

/// The GPUs that `scontrol show job -d` says the job has on each node, by name. Fails where a line cannot be
/// understood; a node without GPUs is left out.
Result<std::map<std::string, int>> slurm_gpus(const std::string& shown);

}  // namespace dlaunch::allocate
