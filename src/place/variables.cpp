#include "place/variables.h"

#include <algorithm>
#include <array>

namespace dlaunch::place {
namespace {

constexpr std::array<std::string_view, 5> kSlurmPrefixes = {"SLURM_", "SLURMD_", "SBATCH_", "SALLOC_", "SRUN_"};

constexpr std::array<std::string_view, 9> kOtherSystems = {"SGE_",       "PBS_", "PALS_",  "COBALT_",   "LSB_",
                                                           "FLUX_TASK_", "PET_", "K_MPI_", "AWS_BATCH_"};
constexpr std::array<std::string_view, 5> kNames = {"NSLOTS", "NHOSTS", "NQUEUES", kHostsOfJob, "FLUX_JOB_SIZE"};
constexpr std::string_view kPodOfIndexedJob = "JOB_COMPLETION_INDEX";

constexpr std::array<std::string_view, 31> kOfNode = {
    // Slurm
    "SLURM_NODEID", "SLURM_CPUS_ON_NODE", "SLURM_GPUS_ON_NODE", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS",
    "SLURM_SCRIPT_CONTEXT", "SLURM_TASK_PID", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
    "ZE_AFFINITY_MASK",
    // Slurm, of the job or the step; missing in the shell of salloc
    "SLURM_JOB_UID", "SLURM_JOB_GID", "SLURM_JOB_USER", "SLURM_JOB_START_TIME", "SLURM_JOB_END_TIME",
    "SLURM_LAUNCH_NODE_IPADDR",
    // Grid Engine
    "NSLOTS", "NHOSTS", "NQUEUES", "TMP",
    // LSF
    kLsfJob, "LSB_JOBINDEX", "LSB_BIND_CPU_LIST",
    // PBS
    "PBS_JOBID", "PBS_JOBNAME", "PBS_NODENUM", "PBS_VNODENUM",
    // Flux
    "FLUX_URI",
    // Kubernetes, AWS Batch
    kPodOfIndexedJob, "AWS_BATCH_JOB_NODE_INDEX"};
constexpr std::array<std::string_view, 3> kOfNodePrefixes = {"SLURMD_", "SLURM_TOPOLOGY_", "SGE_"};

constexpr std::array<std::string_view, 5> kTaskPrefixes = {"SLURM_STEP", "SLURM_SRUN_COMM", "SLURM_NTASKS",
                                                           "SLURM_CPU_BIND", "SLURM_TASK"};
constexpr std::array<std::string_view, 7> kTaskNames = {
    "SLURM_PROCID",      "SLURM_LOCALID", "SLURM_NODEID", "SLURM_NPROCS", "SLURM_GTIDS", "SLURM_LAUNCH_NODE_IPADDR",
    "SLURM_DISTRIBUTION"};

bool has_name(const auto& names, std::string_view name) { return std::ranges::find(names, name) != names.end(); }

bool has_prefix(const auto& prefixes, std::string_view name) {
  return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace

bool describes_job(std::string_view name) {
  return has_prefix(kSlurmPrefixes, name) || name == kPodOfIndexedJob || describes_job_of_other_system(name);
}

bool describes_job_of_other_system(std::string_view name) {
  return has_prefix(kOtherSystems, name) || has_name(kNames, name);
}

bool describes_node(std::string_view name) { return has_prefix(kOfNodePrefixes, name) || has_name(kOfNode, name); }

bool identifies_srun_task(std::string_view name) {
  return has_prefix(kTaskPrefixes, name) || has_name(kTaskNames, name);
}

}  // namespace dlaunch::place
