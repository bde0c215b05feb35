#include "plan/environment.h"

#include <gtest/gtest.h>

namespace dlaunch::plan {
namespace {

TEST(OuterJob, RecognizesVariablesOfOuterLaunchers) {
  for (const char* name : {"RANK",
                           "WORLD_SIZE",
                           "LOCAL_RANK",
                           "MASTER_ADDR",
                           "MASTER_PORT",
                           "TORCHELASTIC_USE_AGENT_STORE",
                           "TORCHELASTIC_RUN_ID",
                           "ROLE_RANK",
                           "OMPI_COMM_WORLD_RANK",
                           "OMPI_COMMAND",
                           "OMPI_UNIVERSE_SIZE",
                           "OMPI_MCA_orte_hnp_uri",
                           "OMPI_MCA_ess_base_vpid",
                           "PMI_RANK",
                           "PMI_FD",
                           "PMIX_NAMESPACE",
                           "PMIX_RANK",
                           "PRTE_LAUNCHED",
                           "MPI_LOCALRANKID",
                           "SLURM_PROCID",
                           "SLURM_STEP_ID",
                           "SLURM_STEPID",
                           "SLURM_NTASKS",
                           "SLURM_LOCALID",
                           "HOROVOD_RANK",
                           "HOROVOD_GLOO_RENDEZVOUS_PORT",
                           "MS_ROLE",
                           "MS_SCHED_HOST",
                           "DEVICE_NUM",
                           "TF_CONFIG",
                           "JAX_COORDINATOR_BIND_ADDRESS",
                           "CM_CHIEF_IP"}) {
    EXPECT_TRUE(left_by_outer_job(name)) << name;
  }
}

TEST(OuterJob, KeepsSettingsOfTheUser) {
  for (const char* name : {"PATH", "RANKS", "HOROVOD_CYCLE_TIME", "HOROVOD_FUSION_THRESHOLD", "OMPI_MCA_btl",
                           "PMIX_MCA_gds", "OMPI_ALLOW_RUN_AS_ROOT", "SLURM_JOB_ID", "SLURM_JOB_NODELIST",
                           "RANK_TABLE_FILE", "MS_SIMULATION_LEVEL", "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME",
                           "OMP_NUM_THREADS", "JAX_PLATFORMS", "TF_CPP_MIN_LOG_LEVEL", "ROLE_ARN"}) {
    EXPECT_FALSE(left_by_outer_job(name)) << name;
  }
}

}  // namespace
}  // namespace dlaunch::plan
