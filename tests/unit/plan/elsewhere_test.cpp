// Environment and working directory of ranks on other hosts.
#include <gmock/gmock.h>

#include "plan/environment.h"
#include "requests.h"

namespace dlaunch::plan {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// A job on this machine and one other host.
struct Two {
  Request asked = request(2);
  Allocation allocation = hosts({1, 1});

  Two() { allocation.hosts[0].local = true; }

  Plan plan() const {
    auto made = make_plan(asked, allocation);
    EXPECT_TRUE(made) << to_text(made.error());
    return made.value_or(Plan{});
  }
  std::vector<std::string> environment(int host) const {
    const Plan made = plan();
    return program_environment(made.apps.at(0), made.hosts.at(static_cast<size_t>(host)));
  }
};

TEST(Elsewhere, VariablesOfThisMachineAreNotSent) {
  for (const char* name : {"HOSTNAME",
                           "HOST",
                           "OLDPWD",
                           "SHLVL",
                           "_",
                           "DISPLAY",
                           "WAYLAND_DISPLAY",
                           "SSH_AUTH_SOCK",
                           "SSH_CONNECTION",
                           "XDG_RUNTIME_DIR",
                           "DBUS_SESSION_BUS_ADDRESS",
                           "TMUX",
                           "TMUX_PANE",
                           "STY",
                           "TERM_SESSION_ID",
                           "VSCODE_PID",
                           "SLURM_JOB_ID",
                           "PMI_RANK",
                           "PMIX_RANK",
                           "OMPI_COMM_WORLD_RANK",
                           "LS_COLORS",
                           "MAIL",
                           "HOME",
                           "USER",
                           "LOGNAME",
                           "SHELL",
                           "TMPDIR",
                           "SBATCH_ACCOUNT",
                           "SALLOC_ACCOUNT",
                           "SRUN_CPUS_PER_TASK",
                           "SGE_TASK_ID",
                           "PE_HOSTFILE",
                           "NSLOTS",
                           "NHOSTS",
                           "NQUEUES",
                           "PALS_APID",
                           "COBALT_JOBID",
                           "FLUX_TASK_RANK",
                           "FLUX_JOB_SIZE",
                           "PET_NNODES",
                           "K_MPI_JOB_ROLE",
                           "AWS_BATCH_JOB_NODE_INDEX",
                           "JOB_COMPLETION_INDEX"}) {
    EXPECT_TRUE(withheld_elsewhere(name)) << name;
  }
  for (const char* name : {"AWS_BATCH_JOB_NODE_INDEX", "JOB_COMPLETION_INDEX", "SLURMD_NODENAME"}) {
    EXPECT_TRUE(tells_of_node(name)) << name;
  }
  for (const char* name : {"PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "TERM", "LANG", "NCCL_DEBUG", "CUDA_HOME", "TZ",
                           "VIRTUAL_ENV", "HOMEBREW", "USERS", "BASH_FUNC_x%%", "FLUX_URI", "PE_ENV", "JOB_ID"}) {
    EXPECT_FALSE(withheld_elsewhere(name)) << name;
  }
  Two two;
  two.asked.environment = {"HOME=/h", "A=1", "SSH_CLIENT=x", "SLURM_JOB_ID=7", "PWD=/old"};
  EXPECT_THAT(two.environment(0), ElementsAre("HOME=/h", "A=1", "SSH_CLIENT=x", "SLURM_JOB_ID=7", "PWD=/work",
                                              "PYTHONUNBUFFERED=1", "PYTHONFAULTHANDLER=1"));
  EXPECT_THAT(two.environment(1), ElementsAre("A=1", "PWD=/work", "PYTHONUNBUFFERED=1", "PYTHONFAULTHANDLER=1"));
}

TEST(Elsewhere, SettingsOfAnMpiLibraryAreSent) {
  Two job;
  job.asked.environment = {"OMPI_MCA_pml=ob1", "PMIX_MCA_gds=hash",      "OMPI_MCA_orte_hnp_uri=x",
                           "OMPI_MCA_ess=^s",  "OMPI_COMM_WORLD_RANK=3", "PMIX_RANK=3",
                           "PMI_FD=4"};
  for (const Mpi mpi : {Mpi::none, Mpi::automatic}) {
    job.asked.mpi = mpi;
    EXPECT_THAT(job.environment(0), testing::IsSupersetOf({"OMPI_MCA_pml=ob1", "PMIX_MCA_gds=hash"}));
    const auto there = job.environment(1);
    EXPECT_THAT(there, testing::IsSupersetOf({"OMPI_MCA_pml=ob1", "PMIX_MCA_gds=hash"}));
    for (const std::string& entry : there)
      EXPECT_THAT(entry, Not(testing::MatchesRegex("(OMPI_MCA_orte|OMPI_MCA_ess|OMPI_COMM|PMIX_RANK|PMI_FD=4).*")));
  }
}

constexpr const char* kExported[] = {
    "MASTER_ADDR=a", "RANK=7",           "WORLD_SIZE=9",       "HOME=/h",
    "DISPLAY=:1",    "SSH_AUTH_SOCK=/s", "XDG_RUNTIME_DIR=/x", "OMPI_COMM_WORLD_RANK=3",
    "RANK_ID=4"};

/// In a Slurm job, srun passes these variables to all nodes.
TEST(Elsewhere, WholeEnvironmentIsSentInAJob) {
  Two job;
  job.asked.whole_environment = true;
  job.asked.frameworks = {Framework::slurm};
  job.asked.mpi = Mpi::automatic;
  job.asked.environment = {kExported, std::end(kExported)};
  for (const char* own : {"SLURM_JOB_ID=7", "SLURM_PROCID=3", "SLURM_NODEID=1", "PMI_RANK=3", "DLAUNCH_ROUND=1",
                          "CUDA_VISIBLE_DEVICES=9", "PWD=/old"}) {
    job.asked.environment.emplace_back(own);
  }
  job.allocation.by_manager = true;
  const auto there = job.environment(1);
  EXPECT_THAT(there, testing::IsSupersetOf(kExported));
  EXPECT_THAT(there, testing::IsSupersetOf({"SLURM_JOB_ID=7", "PWD=/work"}));
  for (const char* name : {"SLURM_PROCID=", "SLURM_NODEID=", "PMI_RANK=", "DLAUNCH_ROUND=", "CUDA_VISIBLE"}) {
    EXPECT_THAT(there, Not(Contains(testing::StartsWith(name)))) << name;
  }
  EXPECT_THAT(rank_environment(job.plan(), job.plan().ranks[1]),
              AllOf(Contains("RANK_ID=4"), Not(Contains("RANK_ID=1")), Contains("DLAUNCH_RANK=1")));
}

/// As with srun --export=NONE.
TEST(Elsewhere, EmptyEnvironmentKeepsTheVariablesOfASlurmJob) {
  Two job;
  job.asked.no_environment = true;
  job.asked.environment = {"SLURM_JOB_ID=7",  "SLURM_NODEID=0", "SLURM_NNODES=9", "SLURM_NTASKS_PER_NODE=2",
                           "SLURM_STEP_ID=1", "SPANK_A=1",      "HOME=/h",        "A=1"};
  EXPECT_THAT(job.environment(1), Not(Contains("SLURM_JOB_ID=7")));
  job.asked.frameworks = {Framework::slurm};
  job.allocation.by_manager = true;
  EXPECT_THAT(job.environment(1), ElementsAre("SLURM_JOB_ID=7", "SLURM_NNODES=9", "SLURM_NTASKS_PER_NODE=2",
                                              "SPANK_A=1", "PYTHONUNBUFFERED=1", "PYTHONFAULTHANDLER=1", "PWD=/work"));
}

/// Over ssh, variables of this machine and login stay here.
TEST(Elsewhere, WholeEnvironmentIsSentBySshWithoutThisLogin) {
  Two job;
  job.asked.whole_environment = true;
  job.asked.frameworks = {Framework::slurm};
  job.asked.environment = {kExported, std::end(kExported)};
  EXPECT_THAT(job.environment(0), testing::IsSupersetOf(kExported));
  const auto there = job.environment(1);
  EXPECT_THAT(there, testing::IsSupersetOf({"MASTER_ADDR=a", "RANK=7", "WORLD_SIZE=9", "RANK_ID=4"}));
  EXPECT_THAT(there, Not(Contains("HOME=/h")));
  EXPECT_THAT(there, Not(Contains("DISPLAY=:1")));
}

TEST(Elsewhere, RankOfAnOuterJobKeepsItsNumbers) {
  Two job;
  job.asked.whole_environment = true;
  job.asked.environment = {"RANK_ID=4", "DEVICE_ID=4", "DLAUNCH_RANK=4", "MASTER_ADDR=a"};
  EXPECT_THAT(job.environment(0), Contains("MASTER_ADDR=a"));
  EXPECT_THAT(rank_environment(job.plan(), job.plan().ranks[0]),
              AllOf(Contains("RANK_ID=0"), Not(Contains("RANK_ID=4"))));
}

/// A launcher started by a rank must not use all hosts of the job.
TEST(Elsewhere, RanksOfGridEngineDoNotGetTheHostList) {
  Two job;
  job.asked.environment = {"PE_HOSTFILE=/pe", "NSLOTS=4", "JOB_ID=5"};
  EXPECT_THAT(job.environment(0), Contains("PE_HOSTFILE=/pe"));
  job.allocation.by_manager = true;
  EXPECT_THAT(job.environment(0), testing::IsSupersetOf({"NSLOTS=4", "JOB_ID=5"}));
  EXPECT_THAT(job.environment(0), Not(Contains("PE_HOSTFILE=/pe")));
  EXPECT_THAT(job.environment(1), Contains("JOB_ID=5"));
  EXPECT_THAT(job.environment(1), Not(Contains("NSLOTS=4"))) << "its agent has its node's own";
}

/// An agent sets the rank's variable from the task lists of its node, unless -x has set the variable.
TEST(Elsewhere, GpusOfLsfTasksReplaceTheGpusOfTheNode) {
  Two job;
  job.asked.environment = {"LSB_JOBID=5", "CUDA_VISIBLE_DEVICES=0,1", "CUDA_VISIBLE_DEVICES1=1"};
  for (const bool by_manager : {false, true}) {
    job.allocation.by_manager = by_manager;
    EXPECT_THAT(job.environment(0),
                AllOf(Not(Contains("CUDA_VISIBLE_DEVICES=0,1")), Contains("CUDA_VISIBLE_DEVICES1=1")));
  }
  EXPECT_THAT(job.environment(1), Not(Contains("CUDA_VISIBLE_DEVICES1=1"))) << "its agent has its node's own";
  job.asked.apps[0].env = {{"CUDA_VISIBLE_DEVICES", {}}};
  EXPECT_THAT(job.environment(0), Contains("CUDA_VISIBLE_DEVICES=0,1"));
  EXPECT_THAT(job.environment(1), Contains("CUDA_VISIBLE_DEVICES=0,1"));
}

TEST(Elsewhere, XAlwaysWins) {
  Two two;
  two.asked.environment = {"HOME=/h", "SLURM_A=1", "SLURM_B=2", "USER=me"};
  two.asked.apps[0].env = {{"HOME", {}}, {"SLURM_*", {}}, {"TMPDIR", "/scratch"}, {"IF", "chosen"}};
  two.allocation.hosts[1].env = {"IF=own", "OTHER=own"};
  const auto environment = two.environment(1);
  for (const char* entry : {"HOME=/h", "SLURM_A=1", "SLURM_B=2", "TMPDIR=/scratch", "IF=chosen", "OTHER=own"}) {
    EXPECT_THAT(environment, Contains(entry));
  }
  EXPECT_THAT(environment, Not(Contains("USER=me")));
  EXPECT_THAT(environment, Not(Contains("IF=own")));
}

TEST(Elsewhere, AHostsOwnVariablesReplaceTheLaunchers) {
  Two two;
  two.asked.environment = {"A=1", "B=2"};
  two.allocation.hosts[0].env = {"A=here"};
  two.allocation.hosts[1].env = {"A=", "TMPDIR=/t", "A=there"};
  EXPECT_THAT(two.environment(0),
              ElementsAre("B=2", "PYTHONUNBUFFERED=1", "PYTHONFAULTHANDLER=1", "PWD=/work", "A=here"));
  EXPECT_THAT(two.environment(1),
              ElementsAre("B=2", "PYTHONUNBUFFERED=1", "PYTHONFAULTHANDLER=1", "PWD=/work", "TMPDIR=/t", "A=there"));
  EXPECT_THAT(rank_environment(two.plan(), two.plan().ranks[1]), testing::IsSupersetOf({"A=there", "RANK_ID=1"}));
}

TEST(Elsewhere, AHostsOwnDirectoryReplacesTheLaunchers) {
  Two two;
  two.allocation.hosts[1].wdir = "/data";
  Plan plan = two.plan();
  EXPECT_EQ(program_directory(plan.apps[0], plan.hosts[0]), "/work");
  EXPECT_EQ(program_directory(plan.apps[0], plan.hosts[1]), "/data");
  EXPECT_THAT(two.environment(1), Contains("PWD=/data"));
  EXPECT_THAT(two.environment(1), Not(Contains("PWD=/work")));
  two.asked.apps[0].wdir = "/asked";
  plan = two.plan();
  EXPECT_EQ(program_directory(plan.apps[0], plan.hosts[1]), "/asked");
  EXPECT_THAT(two.environment(1), Contains("PWD=/asked"));
}

TEST(Elsewhere, KeepsASingleListIfAllRanksAreHere) {
  EXPECT_THAT(make_plan(request(1), local(1))->apps[0].env_elsewhere, IsEmpty());
}

TEST(Elsewhere, RejectsHostVariablesWithAValuePerRank) {
  Two two;
  two.allocation.hosts[1].env = {"RANK_ID=5"};
  two.allocation.hosts[1].from = "hosts:2";
  EXPECT_THAT(to_text(make_plan(two.asked, two.allocation).error()),
              HasSubstr("hosts:2: not supported: env.RANK_ID: each rank"));
}

}  // namespace
}  // namespace dlaunch::plan
