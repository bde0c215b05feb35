#include "allocate/resource_manager.h"

#include "allocate/slurm.h"
#include "entries.h"

namespace dlaunch::allocate {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

using Environment = std::vector<std::string>;

Result<std::string> no_file(const std::string& path) {
  return fail({.where = path, .what = "cannot read", .why = "missing", .hint = ""});
}

std::vector<std::string> hosts(const Environment& environment, const ReadText& read = no_file) {
  const auto manager = manager_of(environment);
  if (!manager) return {"none"};
  const auto entries = read_resource_manager(*manager, environment, read);
  if (!entries) return {to_text(entries.error())};
  return short_forms(*entries);
}

std::string error(const Environment& environment) {
  const auto manager = manager_of(environment);
  return manager ? error_of(read_resource_manager(*manager, environment, no_file)) : "no manager";
}

TEST(ResourceManager, NoneIsNone) {
  EXPECT_THAT(hosts({"HOME=/", "SLURM_JOB_ID=1", "PBS_NODEFILE="}), ElementsAre("none"));
}

TEST(ResourceManager, Slurm) {
  EXPECT_THAT(hosts({"SLURM_JOB_NODELIST=n[01-03],gpu_4", "SLURM_TASKS_PER_NODE=2(x3),1"}),
              ElementsAre("n01:2", "n02:2", "n03:2", "gpu_4:1"));
  EXPECT_THAT(hosts({"SLURM_NODELIST=a", "SLURM_TASKS_PER_NODE=4"}), ElementsAre("a:4"));
  EXPECT_THAT(hosts({"SLURM_JOB_NODELIST=a,b", "SLURM_JOB_CPUS_PER_NODE=16(x2)"}), ElementsAre("a:16", "b:16"));
  EXPECT_THAT(hosts({"SLURM_JOB_NODELIST=a,b", "SLURM_CPUS_ON_NODE=8"}), ElementsAre("a:8", "b:8"));
  const auto entries = read_slurm({"SLURM_NODELIST=a", "SLURM_TASKS_PER_NODE=4"});
  ASSERT_TRUE(entries);
  EXPECT_EQ((*entries)[0].from, "SLURM_TASKS_PER_NODE");
}

/// What 22.05 sets for these options of salloc.
TEST(ResourceManager, SlotsOfASlurmNodeAreWhatItsOptionsMean) {
  const auto of = [](const Environment& more) {
    Environment environment = {"SLURM_JOB_NODELIST=a,b"};
    environment.insert(environment.end(), more.begin(), more.end());
    return hosts(environment);
  };
  EXPECT_THAT(of({"SLURM_TASKS_PER_NODE=1(x2)", "SLURM_JOB_CPUS_PER_NODE=4(x2)"}), ElementsAre("a:4", "b:4"))
      << "-N 2 alone";
  EXPECT_THAT(of({"SLURM_TASKS_PER_NODE=1(x2)", "SLURM_JOB_CPUS_PER_NODE=4(x2)", "SLURM_NTASKS=2"}),
              ElementsAre("a:1", "b:1"))
      << "--ntasks-per-node=1";
  EXPECT_THAT(of({"SLURM_TASKS_PER_NODE=1(x2)", "SLURM_JOB_CPUS_PER_NODE=4(x2)", "SLURM_CPUS_PER_TASK=4"}),
              ElementsAre("a:1", "b:1"))
      << "--cpus-per-task=4";
  EXPECT_THAT(of({"SLURM_TASKS_PER_NODE=1(x2)", "SLURM_NTASKS=2", "SLURM_GPUS_PER_NODE=8"}), ElementsAre("a", "b"))
      << "--ntasks-per-node=1 --gpus-per-node=8: the nodes are asked";
  EXPECT_THAT(of({"SLURM_TASKS_PER_NODE=7,1", "SLURM_NTASKS=8", "SLURM_GPUS_PER_TASK=1"}), ElementsAre("a:7", "b:1"));
  EXPECT_THAT(of({"SLURM_TASKS_PER_NODE=32(x2)", "SLURM_NTASKS=64"}), ElementsAre("a:32", "b:32"));
}

TEST(ResourceManager, MoreRanksThanTheOneTaskOfANodeAreNoOversubscription) {
  const auto entries =
      read_slurm({"SLURM_JOB_NODELIST=a", "SLURM_TASKS_PER_NODE=1", "SLURM_NTASKS=1", "SLURM_JOB_CPUS_PER_NODE=4"});
  ASSERT_TRUE(entries);
  EXPECT_EQ((*entries)[0].cpus, 4);
}

TEST(ResourceManager, GroupsOfAHeterogeneousSlurmJobAreJoined) {
  EXPECT_THAT(hosts({"SLURM_JOB_ID=19", "SLURM_HET_SIZE=2", "SLURM_JOB_NODELIST_HET_GROUP_0=n[1-2]",
                     "SLURM_TASKS_PER_NODE_HET_GROUP_0=2(x2)", "SLURM_JOB_NODELIST_HET_GROUP_1=n3",
                     "SLURM_TASKS_PER_NODE_HET_GROUP_1=3"}),
              ElementsAre("n1:2", "n2:2", "n3:3"));
  EXPECT_THAT(error({"SLURM_HET_SIZE=2", "SLURM_JOB_NODELIST_HET_GROUP_0=a", "SLURM_TASKS_PER_NODE_HET_GROUP_0=1"}),
              HasSubstr("HET_GROUP_1"));
  EXPECT_THAT(error({"SLURM_HET_SIZE=x"}), HasSubstr("SLURM_HET_SIZE"));
}

TEST(ResourceManager, OneOfSeveralCopiesIsRefused) {
  const auto copies = [](const Environment& more) {
    const auto error = refuse_copies({plan::Manager::Kind::slurm, "5"}, more);
    return error ? to_text(*error) : "";
  };
  EXPECT_THAT(copies({"SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=4"}),
              AllOf(HasSubstr("Slurm job 5"), HasSubstr("4 copies"), HasSubstr("srun -n 1")));
  EXPECT_EQ(copies({"SLURM_STEP_ID=0", "SLURM_STEP_NUM_TASKS=1"}), "");
  EXPECT_EQ(copies({"SLURM_STEP_ID=4294967290", "SLURM_STEP_NUM_TASKS=2"}), "") << "an interactive step";
  EXPECT_EQ(copies({"SLURM_JOB_NODELIST=a"}), "");
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
