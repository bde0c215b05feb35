// CUDA_VISIBLE_DEVICES1, …2, … of an LSF job: the list for each task of a node.
#include "plan/visible.h"

#include <gmock/gmock.h>

namespace dlaunch::plan {
namespace {

using testing::Eq;
using testing::Optional;

TEST(TaskGpus, EachTaskGetsTheListOfItsNumber) {
  const std::vector<std::string> node = {"LSB_JOBID=5", "CUDA_VISIBLE_DEVICES10=4", "CUDA_VISIBLE_DEVICES2=0,1",
                                         "CUDA_VISIBLE_DEVICES=0,1,4"};
  EXPECT_THAT(task_gpus(node, 0), Optional(Eq("CUDA_VISIBLE_DEVICES=0,1")));
  EXPECT_THAT(task_gpus(node, 1), Optional(Eq("CUDA_VISIBLE_DEVICES=4")));
  EXPECT_EQ(task_gpus(node, 2), std::nullopt);
  EXPECT_TRUE(has_task_gpus(node));
}

TEST(TaskGpus, IgnoresOtherVariables) {
  for (const char* name :
       {"CUDA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES_1", "CUDA_VISIBLE_DEVICES-1", "CUDA_VISIBLE1"}) {
    EXPECT_FALSE(names_task_gpus(name)) << name;
    EXPECT_FALSE(has_task_gpus({"LSB_JOBID=5", std::string(name) + "=0"})) << name;
  }
}

TEST(TaskGpus, IgnoresTheVariablesOutsideLsf) { EXPECT_FALSE(has_task_gpus({"CUDA_VISIBLE_DEVICES1=0"})); }

}  // namespace
}  // namespace dlaunch::plan
