#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "place/manager_row.h"
#include "transport/bootstrap.h"
#include "transport/command.h"

namespace dlaunch::place {
namespace {

using testing::HasSubstr;
using testing::Not;

std::vector<plan::Host> named(const std::vector<std::string>& names) {
  std::vector<plan::Host> hosts(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    hosts[i].name = names[i];
    hosts[i].reach.step = std::to_string(i + 4);
  }
  return hosts;
}

std::string srun(const std::vector<std::string>& environment, StepGpus gpus = {}) {
  return kSlurm.command(environment, "srun", gpus);
}

TEST(ManagerCommand, StartsOneAgentPerNode) {
  EXPECT_THAT(srun({"PATH=/bin"}), testing::StartsWith("env SLURM_EXTERNAL_LAUNCHER=1 SLURM_OOM_KILL_STEP=0 srun "));
  EXPECT_THAT(srun({}), HasSubstr(" -N1 -n1 "));
  EXPECT_THAT(srun({}), testing::EndsWith(" -w {host}"));
}

TEST(ManagerCommand, UnsetsVariablesForTheJobsOwnTasks) {
  const std::string line =
      srun({"SLURM_NTASKS=8", "SLURM_NTASKS_PER_NODE=4", "SLURM_CPUS_PER_TASK=2", "SLURM_GPUS_PER_NODE=4",
            "SLURM_DEBUG=1", "SLURM_TIMELIMIT=1", "SLURM_JOB_ID=5", "SLURM_CONF=/etc/slurm.conf",
            "SLURM_TRES_PER_TASK=gres/gpu=1", "SLURM_TRES_BIND=gres/gpu:per_task:1", "SLURM_GPU_BIND=single:1"});
  for (const char* name :
       {"SLURM_NTASKS", "SLURM_NTASKS_PER_NODE", "SLURM_CPUS_PER_TASK", "SLURM_GPUS_PER_NODE", "SLURM_DEBUG",
        "SLURM_TIMELIMIT", "SLURM_TRES_PER_TASK", "SLURM_TRES_BIND", "SLURM_GPU_BIND"}) {
    EXPECT_THAT(line, HasSubstr(std::string(" -u ") + name + " "));
  }
  EXPECT_THAT(line, Not(HasSubstr("SLURM_JOB_ID")));
  EXPECT_THAT(line, Not(HasSubstr("SLURM_CONF")));
}

TEST(ManagerCommand, KeepsNamesThatAShellCannotUnset) {
  EXPECT_THAT(srun({"SLURM_STEP_$(touch /tmp/x)=1"}), testing::StartsWith("env SLURM_EXTERNAL_LAUNCHER=1 "));
}

TEST(ManagerCommand, StepNamesGpusOfItsNodeIfNodesDiffer) {
  plan::Host host;
  host.name = "n3";
  host.reach.step = "--gpus=2";
  EXPECT_THAT(transport::exec_command(srun({"SLURM_GPUS=6"}, {.differ = true}), host),
              testing::EndsWith(" --gpus=2 -w n3"));
}

TEST(ManagerCommand, UsesQrshOfTheJobsGridEngine) {
  const std::vector<std::string> environment = {"SGE_ROOT=/opt/my sge", "ARC=lx-amd64"};
  EXPECT_EQ(kGridEngine.program_path("qrsh", environment), "/opt/my sge/bin/lx-amd64/qrsh");
  EXPECT_EQ(kGridEngine.program_path("qrsh", {}), "qrsh");
  EXPECT_THAT(kGridEngine.command(environment, kGridEngine.program_path("qrsh", environment), {}),
              testing::EndsWith(" '/opt/my sge/bin/lx-amd64/qrsh' {host}"));
}

TEST(ManagerCommand, UsesBlaunchOfTheJobsLsf) {
  EXPECT_EQ(kLsf.command({}, "/lsf/bin/blaunch", {}), "/lsf/bin/blaunch {host}");
  EXPECT_EQ(kLsf.command({}, "blaunch", {}), "blaunch {host}");
}

TEST(ManagerCommand, StepOfHeterogeneousJobNamesItsGroup) {
  plan::Host host;
  host.name = "n3";
  host.reach.step = "--het-group=1";
  EXPECT_THAT(transport::exec_command(srun({"SLURM_HET_SIZE=2"}), host), testing::EndsWith(" --het-group=1 -w n3"));
}

/// qrsh blocks if more than 64 KiB arrive before the program's first output.
TEST(ManagerCommand, SendsQrshFewBytesBeforeAnswer) {
  EXPECT_LT(transport::bootstrap_script(transport::agent_images(), std::string(20, 'n'), std::string(4096, 'p')).size(),
            32u << 10);
}

TEST(ManagerDialIn, SlurmStartsAllAgentsWithASingleCommand) {
  const auto how =
      kSlurm.dial_in({"SLURM_NTASKS=8", "SLURM_NTASKS.x=1", "SLURM_JOB_ID=5", "SLURM_CONF=/c"}, "srun", {});
  ASSERT_TRUE(how);
  EXPECT_THAT(how->unset, testing::ElementsAre("SLURM_NTASKS"));
  EXPECT_EQ(how->ports_file, "/c");
  const std::string line = transport::group_command(how->command, named({"n1", "n2", "n3"}));
  EXPECT_THAT(line, testing::StartsWith("srun "));
  EXPECT_THAT(line, HasSubstr(" -N3 -n3 --ntasks-per-node=1 "));
  EXPECT_THAT(line, testing::EndsWith(" -w n1,n2,n3"));
  EXPECT_THAT(line, testing::Not(HasSubstr(" -u -")));  // by line, so that lines of different nodes do not mix
  EXPECT_THAT(how->set, testing::ElementsAre("SLURM_EXTERNAL_LAUNCHER=1", "SLURM_OOM_KILL_STEP=0"));
}

TEST(ManagerDialIn, UnevenGpusNeedACommandPerNodeOfOlderSlurm) {
  EXPECT_FALSE(kSlurm.dial_in({"SLURM_GPUS=6"}, "srun", {.differ = true}));
  const auto how = kSlurm.dial_in({"SLURM_GPUS=6"}, "srun", {.all = true});
  ASSERT_TRUE(how);
  EXPECT_THAT(how->command, Not(HasSubstr("--gpus")));
}

TEST(ManagerDialIn, GroupsHaveACommandEachOfNewerSlurm) {
  const auto how = kSlurm.dial_in({"SLURM_HET_SIZE=2"}, "srun", {.all = true});
  ASSERT_TRUE(how);
  std::vector<plan::Host> hosts = named({"n1", "n2"});
  for (plan::Host& host : hosts) host.reach.step = "--het-group=0";
  EXPECT_THAT(transport::group_command(how->command, hosts), testing::EndsWith(" --het-group=0 -w n1,n2"));
}

TEST(ManagerDialIn, GroupsAndOtherManagersUseACommandPerNode) {
  EXPECT_FALSE(kSlurm.dial_in({"SLURM_HET_SIZE=2"}, "srun", {}));
  EXPECT_FALSE(kGridEngine.dial_in);
  EXPECT_FALSE(kLsf.dial_in);
}

TEST(ManagerDialIn, FluxUsesRanksOfTheInstance) {
  const auto how = kFlux.dial_in({"FLUX_URI=local:///x"}, "flux", {});
  ASSERT_TRUE(how);
  EXPECT_FALSE(how->files_in);
  EXPECT_EQ(transport::group_command(how->command, named({"n2", "n3"})), "flux exec -r 4,5 -d /");
}

TEST(ManagerDialIn, PbsTasksReadFiles) {
  plan::Host host;
  host.name = "n3";
  host.reach.step = "-n 4";
  const std::vector<std::string> environment = {"PBS_EXEC=/opt/pbs", "HOME=/home/u", "XDG_CACHE_HOME=relative"};
  const auto line = [&](const char* program) {
    const auto how = kPbs.dial_in(environment, kPbs.program_path(program, environment), {});
    EXPECT_EQ(how->files_in, "/home/u/.cache/dlaunch");
    return transport::exec_command(transport::group_command(how->command, named({"n2", "n3"})), host);
  };
  EXPECT_EQ(line("pbs_tmrsh"), "/opt/pbs/bin/pbs_tmrsh n3");
  EXPECT_EQ(line("pbsdsh"), "/opt/pbs/bin/pbsdsh -n 4 --");
  EXPECT_EQ(line("aprun"), "aprun -n 2 -N 1 --cc none -L n2,n3");
  EXPECT_EQ(kPbs.dial_in({"XDG_CACHE_HOME=/shared", "HOME=/h"}, "aprun", {})->files_in, "/shared/dlaunch");
}

}  // namespace
}  // namespace dlaunch::place
