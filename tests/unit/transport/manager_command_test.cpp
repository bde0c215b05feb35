#include "transport/manager_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlaunch::transport {
namespace {

using plan::Manager;
using testing::HasSubstr;
using testing::Not;

std::string srun(const std::vector<std::string>& environment) {
  return manager_command(Manager::Kind::slurm, environment);
}

TEST(ManagerCommand, StartsOneAgentOnANode) {
  EXPECT_THAT(srun({"PATH=/bin"}), testing::StartsWith("env srun "));
  EXPECT_THAT(srun({}), HasSubstr(" -N1 -n1 "));
  EXPECT_THAT(srun({}), testing::EndsWith(" -w {host}"));
}

TEST(ManagerCommand, HidesWhatMeansTheJobsOwnTasks) {
  const std::string line = srun({"SLURM_NTASKS=8", "SLURM_NTASKS_PER_NODE=4", "SLURM_CPUS_PER_TASK=2",
                                 "SLURM_GPUS_PER_NODE=4", "SLURM_JOB_ID=5", "SLURM_CONF=/etc/slurm.conf"});
  for (const char* name : {"SLURM_NTASKS", "SLURM_NTASKS_PER_NODE", "SLURM_CPUS_PER_TASK", "SLURM_GPUS_PER_NODE"}) {
    EXPECT_THAT(line, HasSubstr(std::string(" -u ") + name + " "));
  }
  EXPECT_THAT(line, Not(HasSubstr("SLURM_JOB_ID")));
  EXPECT_THAT(line, Not(HasSubstr("SLURM_CONF")));
}

TEST(ManagerCommand, TakesANameForAWord) {
  EXPECT_THAT(srun({"SLURM_STEP_$(touch /tmp/x)=1"}), HasSubstr(" -u 'SLURM_STEP_$(touch /tmp/x)' "));
}

TEST(ManagerCommand, GivesAllButWhereNodesMayDiffer) {
  const auto gives_all = [](const std::vector<std::string>& environment) {
    return command_gives_all(Manager::Kind::slurm, environment);
  };
  EXPECT_TRUE(gives_all({"SLURM_JOB_NODELIST=a", "SLURM_GPUS_PER_NODE=4"}));
  EXPECT_FALSE(gives_all({"SLURM_HET_SIZE=2"}));
  EXPECT_FALSE(gives_all({"SLURM_GPUS=6"}));
  EXPECT_FALSE(gives_all({"SLURM_GPUS_PER_TASK=1"}));
  EXPECT_FALSE(command_gives_all(Manager::Kind::pbs, {}));
}

}  // namespace
}  // namespace dlaunch::transport
