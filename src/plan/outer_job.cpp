#include "plan/outer_job.h"

#include <algorithm>
#include <array>

#include "place/variables.h"

namespace dlaunch::plan {
namespace {

constexpr std::array<std::string_view, 11> kOuterJobPrefixes = {
    "TORCHELASTIC_",   "PMI_",         "PMIX_",      "PRTE_",           "OMPI_COMM_",
    "OMPI_MCA_orte_",  "OMPI_MCA_ess", "OMPI_WORLD", "MV2_COMM_WORLD_", "HOROVOD_GLOO_RENDEZVOUS_",
    "JAX_COORDINATOR_"};

constexpr std::array<std::string_view, 57> kOuterJobNames = {
    // torchrun, deepspeed
    "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "NODE_RANK",
    "MASTER_ADDR", "MASTER_PORT", "LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE", "ROLE_NAME", "ROLE_RANK", "ROLE_WORLD_SIZE",
    // JAX, TensorFlow
    "JAX_NUM_PROCESSES", "JAX_PROCESS_ID", "JAX_LOCAL_DEVICE_IDS", "TF_CONFIG", "CM_CHIEF_IP", "CM_CHIEF_PORT",
    "CM_CHIEF_DEVICE", "CM_WORKER_SIZE", "CM_WORKER_IP",
    // MindSpore: msrun, rank table scripts
    "DEVICE_NUM", "MS_ROLE", "MS_SCHED_HOST", "MS_SCHED_PORT", "MS_WORKER_NUM", "MS_SERVER_NUM", "MS_NODE_ID",
    "MS_WORKER_IP", "MSRUN_CPU_LIST",
    // horovodrun
    "HOROVOD_HOSTNAME", "HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE",
    "HOROVOD_CROSS_RANK", "HOROVOD_CROSS_SIZE", "HOROVOD_CONTROLLER", "HOROVOD_CPU_OPERATIONS", "HOROVOD_GLOO_IFACE",
    "HOROVOD_ELASTIC",
    // mpirun, Hydra
    "OMPI_UNIVERSE_SIZE", "OMPI_COMMAND", "OMPI_ARGV", "OMPI_NUM_APP_CTX", "OMPI_APP_CTX_NUM_PROCS", "OMPI_FIRST_RANKS",
    "OMPI_FILE_LOCATION", "OMPI_APP_SIZES", "OMPI_MCA_pmix", "OMPI_MCA_initial_wdir", "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS", "HYDI_CONTROL_FD"};

}  // namespace

bool left_by_outer_job(std::string_view name) {
  if (name.starts_with("PMIX_MCA_") || name.starts_with("PRTE_MCA_")) return false;
  return place::identifies_srun_task(name) || std::ranges::find(kOuterJobNames, name) != kOuterJobNames.end() ||
         std::ranges::any_of(kOuterJobPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace dlaunch::plan
