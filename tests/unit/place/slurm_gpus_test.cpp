#include "place/slurm_gpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "place/manager_row.h"

namespace dlaunch::place {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(JobDevices, GpusMayDifferIfRequestedInTotal) {
  EXPECT_FALSE(gpus_may_differ({"SLURM_JOB_NODELIST=a", "SLURM_GPUS_PER_NODE=4"}));
  EXPECT_FALSE(gpus_may_differ({"SLURM_HET_SIZE=2", "SLURM_GPUS_PER_NODE_HET_GROUP_1=4"}));
  EXPECT_TRUE(gpus_may_differ({"SLURM_HET_SIZE=2", "SLURM_GPUS_HET_GROUP_1=4"}));
  EXPECT_TRUE(gpus_may_differ({"SLURM_GPUS=6"}));
  EXPECT_TRUE(gpus_may_differ({"SLURM_GPUS_PER_TASK=1"}));
  EXPECT_TRUE(gpus_may_differ({"SLURM_TRES_PER_TASK=cpu=2,gres/gpu=1"}));
  EXPECT_TRUE(gpus_may_differ({"SLURM_TRES_PER_TASK_HET_GROUP_1=gres/gpu:a100=2"}));
  EXPECT_TRUE(gpus_may_differ({"SLURM_TRES_PER_TASK=gres/gpu=one"})) << "scontrol has the number";
  EXPECT_FALSE(gpus_may_differ({"SLURM_TRES_PER_TASK=cpu=2"}));
  EXPECT_FALSE(gpus_may_differ({"SLURM_TRES_PER_TASK=gres/gpu=0"}));
  EXPECT_FALSE(gpus_may_differ({"SLURM_TRES_PER_TASK"}));
}

TEST(JobDevices, DetectsGpusWithoutARequest) {
  EXPECT_TRUE(gpus_may_be_unasked({"SLURM_GPUS_ON_NODE=4"}));
  EXPECT_FALSE(gpus_may_be_unasked({"SLURM_GPUS_ON_NODE=4", "SLURM_GPUS_PER_NODE=4"}));
  EXPECT_FALSE(gpus_may_be_unasked({"SLURM_GPUS_ON_NODE=4", "SLURM_HET_SIZE=2"}));
  EXPECT_FALSE(gpus_may_be_unasked({"SLURM_GPUS_ON_NODE=4", "SLURM_TRES_PER_TASK=gres/gpu=1"}));
  EXPECT_TRUE(gpus_may_be_unasked({"SLURM_GPUS_ON_NODE=4", "SLURM_TRES_PER_TASK=cpu=4"}));
  EXPECT_FALSE(gpus_may_be_unasked({"SLURM_JOB_ID=5"}));
}

TEST(JobDevices, DetectsDevicesInTheVariablesOfEachManager) {
  EXPECT_TRUE(kSlurm.says_devices({"SLURM_GPUS_PER_NODE_HET_GROUP_1=4"}));
  EXPECT_TRUE(kSlurm.says_devices({"SLURM_TRES_PER_TASK=gres/gpu=1"}));
  EXPECT_TRUE(kSlurm.says_devices({"SLURM_GPUS_PER_SOCKET=4"}));
  EXPECT_FALSE(kSlurm.says_devices({"CUDA_VISIBLE_DEVICES=0", "SLURM_GPUS_ON_NODE="}));
  EXPECT_TRUE(kLsf.says_devices({"CUDA_VISIBLE_DEVICES=0"}));
  EXPECT_FALSE(kFlux.says_devices);
}

TEST(JobDevices, DetectsRequestsInTheJobDescription) {
  EXPECT_TRUE(asks_for_gpus("   TresPerNode=gres/gpu:4\n   OverSubscribe=NO"));
  EXPECT_FALSE(asks_for_gpus("   JOB_GRES=gpu:8\n   TresPerNode=license:1"));
}

TEST(JobDevices, AsksForTheVersionOfAJobWithUnevenGpusOrGroups) {
  EXPECT_THAT(slurm_gpus_command("5", {"SLURM_GPUS=6"}), HasSubstr("scontrol show job -d 5"));
  EXPECT_THAT(slurm_gpus_command("5", {"SLURM_HET_SIZE=2", "SLURM_GPUS_HET_GROUP_1=4"}), HasSubstr("show job"));
  const std::string groups = slurm_gpus_command("5", {"SLURM_HET_SIZE=2", "SLURM_GPUS_PER_NODE_HET_GROUP_1=4"});
  EXPECT_THAT(groups, HasSubstr("scontrol --version"));
  EXPECT_THAT(groups, Not(HasSubstr("show job")));
  EXPECT_EQ(slurm_gpus_command("5", {"SLURM_GPUS_PER_NODE=4"}), "");
}

TEST(JobDevices, StepsOfNewerSlurmHaveAllGpus) {
  EXPECT_TRUE(slurm_step_gpus({"SLURM_GPUS=6"}, {.text = "newer\n", .trouble = {}})->all);
  const auto older = slurm_step_gpus({"SLURM_HET_SIZE=2"}, {.text = "", .trouble = {}});
  ASSERT_TRUE(older);
  EXPECT_FALSE(older->all || older->differ);
  EXPECT_FALSE(slurm_step_gpus({"SLURM_GPUS=6"}, {.text = "", .trouble = {}}));
}

}  // namespace
}  // namespace dlaunch::place
