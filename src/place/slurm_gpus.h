// The GPUs of a Slurm job, from its variables and from `scontrol show job -d`. Each node reports its devices later.
// Pure.
#pragma once

#include <array>

#include "place/manager_row.h"

namespace dlaunch::place {

/// Each of these shows GPUs; the number of a group of a heterogeneous job may follow the name. SLURM_TRES_PER_TASK
/// shows GPUs, too, if it names them.
inline constexpr std::array<const char*, 7> kGpuVariables = {
    "SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE", "SLURM_GPUS_PER_SOCKET", "SLURM_JOB_GPUS",
    "SLURM_STEP_GPUS",    "SLURM_GPUS",          "SLURM_GPUS_PER_TASK"};

/// Whether the variables of the job show GPUs.
bool slurm_says_gpus(const Environment& environment);

/// Whether a Slurm job's GPUs may be spread unevenly (--gpus, --gpus-per-task). A step gets all GPUs of its node only
/// if the step requests their number.
bool gpus_may_differ(const std::vector<std::string>& environment);

/// Whether a Slurm job has GPUs on this node, but no variable shows that the job requested GPUs (with --exclusive). In
/// this job a step gets GPUs only if the step requests GPUs.
bool gpus_may_be_unasked(const std::vector<std::string>& environment);

/// Whether the job is heterogeneous.
bool has_groups(const std::vector<std::string>& environment);

/// Whether `scontrol show job -d` shows a request for GPUs; in such a job every step has GPUs.
bool asks_for_gpus(const std::string& shown);

/// The members gpus_command, step_gpus and gpu_words of the row. The command asks for the version of Slurm, and before
/// 23.11 for the GPUs of the job.
std::string slurm_gpus_command(const std::string& job, const Environment& environment);
Result<StepGpus> slurm_step_gpus(const Environment& environment, const ManagerAnswer& shown);
std::string slurm_gpu_words(std::optional<int> gpus);

}  // namespace dlaunch::place
