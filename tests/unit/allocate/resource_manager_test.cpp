#include "allocate/resource_manager.h"

#include "entries.h"

namespace dlaunch::allocate {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using Environment = std::vector<std::string>;

Result<std::string> no_file(const std::string& path) {
  return fail({.where = path, .what = "cannot read", .why = "missing", .hint = ""});
}

std::vector<std::string> hosts(const Environment& environment, const ReadText& read = no_file) {
  const auto entries = read_resource_manager(environment, read);
  EXPECT_TRUE(entries) << to_text(entries.error());
  if (!entries || !*entries) return {"none"};
  return short_forms(**entries);
}

std::string error(const Environment& environment) { return error_of(read_resource_manager(environment, no_file)); }

TEST(ResourceManager, NoneIsNone) {
  EXPECT_THAT(hosts({"HOME=/", "SLURM_JOB_ID=1", "PBS_NODEFILE="}), ElementsAre("none"));
}

TEST(ResourceManager, Slurm) {
  EXPECT_THAT(hosts({"SLURM_JOB_NODELIST=n[01-03],gpu_4", "SLURM_TASKS_PER_NODE=2(x3),1"}),
              ElementsAre("n01:2", "n02:2", "n03:2", "gpu_4:1"));
  EXPECT_THAT(hosts({"SLURM_NODELIST=a", "SLURM_TASKS_PER_NODE=4"}), ElementsAre("a:4"));
  EXPECT_THAT(hosts({"SLURM_JOB_NODELIST=a,b", "SLURM_JOB_CPUS_PER_NODE=16(x2)"}), ElementsAre("a:16", "b:16"));
  EXPECT_THAT(hosts({"SLURM_JOB_NODELIST=a,b", "SLURM_CPUS_ON_NODE=8"}), ElementsAre("a:8", "b:8"));
  const auto entries = read_resource_manager({"SLURM_NODELIST=a", "SLURM_TASKS_PER_NODE=4"}, no_file);
  EXPECT_EQ((**entries)[0].from, "SLURM_TASKS_PER_NODE");
}

TEST(ResourceManager, PbsRepeatsAreSlots) {
  const auto read = [](const std::string& path) -> Result<std::string> {
    EXPECT_EQ(path, "/var/nodes");
    return "a\na\r\nb.x\n";
  };
  EXPECT_THAT(hosts({"PBS_NODEFILE=/var/nodes"}, read), ElementsAre("a:1", "a:1", "b.x:1"));
}

TEST(ResourceManager, Lsf) { EXPECT_THAT(hosts({"LSB_MCPU_HOSTS=a 4 b 2 "}), ElementsAre("a:4", "b:2")); }

TEST(ResourceManager, WhatCannotBeReadIsAnErrorWithAWayOut) {
  const Environment bad[] = {{"SLURM_JOB_NODELIST=n[1-2", "SLURM_TASKS_PER_NODE=1"},
                             {"SLURM_JOB_NODELIST=a,b", "SLURM_TASKS_PER_NODE=2"},
                             {"SLURM_JOB_NODELIST=a", "SLURM_TASKS_PER_NODE=2(x"},
                             {"SLURM_JOB_NODELIST=a", "SLURM_TASKS_PER_NODE=2(x1"},
                             {"SLURM_JOB_NODELIST=a", "SLURM_TASKS_PER_NODE=x"},
                             {"SLURM_JOB_NODELIST=a"},
                             {"PBS_NODEFILE=/gone"},
                             {"LSB_MCPU_HOSTS=a"},
                             {"LSB_MCPU_HOSTS=a b"},
                             {"LSB_MCPU_HOSTS=-a 1"}};
  for (const Environment& environment : bad) {
    EXPECT_THAT(error(environment), HasSubstr("--ignore-resource-manager")) << environment[0];
  }
}

}  // namespace
}  // namespace dlaunch::allocate
