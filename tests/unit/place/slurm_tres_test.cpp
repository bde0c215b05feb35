#include "place/slurm_tres.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace dlaunch::place {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(SlurmTres, ReadsResourcesOfATask) {
  const auto both = parse_tres_per_task("cpu=2,gres/gpu=1");
  ASSERT_TRUE(both);
  EXPECT_EQ(both->cpus, 2);
  EXPECT_EQ(both->gpus, "1");
  EXPECT_THAT(both->others, IsEmpty());
  const auto others = parse_tres_per_task("license/ansys=1,gres/nic:2,cpu=1,energy");
  ASSERT_TRUE(others);
  EXPECT_EQ(others->gpus, "");
  EXPECT_THAT(others->others, ElementsAre("license/ansys", "gres/nic", "energy"));
}

TEST(SlurmTres, ReadsEachFormOfGpus) {
  const auto gpus = [](const char* text) {
    const auto found = parse_tres_per_task(text);
    return found ? found->gpus : "malformed";
  };
  EXPECT_EQ(gpus("gres/gpu"), "1");
  EXPECT_EQ(gpus("gres/gpu:a100"), "a100:1");
  EXPECT_EQ(gpus("gres/gpu:2"), "2");
  EXPECT_EQ(gpus("gres:gpu:2"), "2") << "Slurm 23.11";
  EXPECT_EQ(gpus("gres:gpu:a100:2"), "a100:2");
  EXPECT_EQ(gpus("gres/gpu:a100=2"), "a100:2");
  EXPECT_EQ(gpus("gres/gpu:a100=2,gres/gpu:v100=1"), "a100:2,v100:1");
  EXPECT_EQ(gpus(",gres/gpu=4,"), "4");
  EXPECT_EQ(gpus("gres/gpu=0"), "");
  EXPECT_EQ(gpus("gres/gpu=0,gres/gpu:a100=1"), "a100:1");
  EXPECT_EQ(gpus("gres/gpus=4"), "") << "another resource";
}

TEST(SlurmTres, RejectsMalformedLists) {
  for (const char* text :
       {"", ",", "cpu=", "cpu=x", "cpu=0", "cpu=-1", "cpu/a=2", "gres/gpu=", "gres/gpu=x", "gres/gpu=-1", "gres/gpu=1k",
        "gres/gpu:=1", "gres/gpu:a:b=1", "gres", "gres=4", "=4", "/a=1", "gres/gpu=99999999999999999999"}) {
    EXPECT_FALSE(parse_tres_per_task(text)) << text;
  }
}

TEST(SlurmTres, DetectsGpusAlsoWithoutAReadableNumber) {
  for (const char* text :
       {"gres/gpu=1", "cpu=2,gres/gpu:a100:1", "gres:gpu:1", "gres/gpu", "gres/gpu=x", "gres/gpu="}) {
    EXPECT_TRUE(tres_per_task_has_gpus(text)) << text;
  }
  for (const char* text : {"", "cpu=2", "gres/gpu=0", "gres/gpu:a100=0", "gres/nic=1", "license/gpu=1"}) {
    EXPECT_FALSE(tres_per_task_has_gpus(text)) << text;
  }
}

TEST(SlurmTres, ReadsTheBindingOfGpus) {
  EXPECT_EQ(gpu_bind_of_tres("gres/gpu:per_task:1"), "per_task:1");
  EXPECT_EQ(gpu_bind_of_tres("gres/nic:closest+gres/gpu:verbose,map:0,1"), "verbose,map_gpu:0,1");
  EXPECT_EQ(gpu_bind_of_tres("gres/gpu:mask:0x1,0x2"), "mask_gpu:0x1,0x2");
  EXPECT_EQ(gpu_bind_of_tres("gres/gpu:map_gpu:0"), "map_gpu:0");
  EXPECT_EQ(gpu_bind_of_tres("gpu:closest"), "closest");
  EXPECT_EQ(gpu_bind_of_tres("gres/shard:per_task:1"), "");
  for (const char* text : {"", "+", "gres/gpu", "gres/gpu:", "closest", ":closest", "gres/gpu:closest+"}) {
    EXPECT_FALSE(gpu_bind_of_tres(text)) << text;
  }
}

}  // namespace
}  // namespace dlaunch::place
