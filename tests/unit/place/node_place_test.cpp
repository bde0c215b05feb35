// The number of this node, with the variables of each system that starts the same command line on all nodes.
#include "place/place.h"

#include <gtest/gtest.h>

namespace dlaunch::place {
namespace {

std::string place(const Environment& environment) {
  const auto place = read_place(environment, {}).node;
  if (!place) return place.error().where + ": " + place.error().why;
  const auto number = [](std::optional<int> value) { return value ? std::to_string(*value) : "?"; };
  return number(place->node) + " of " + number(place->nodes) + " at " + place->rendezvous;
}

TEST(NodePlaces, ReadsVariablesOfTorchrun) {
  EXPECT_EQ(place({"PET_NNODES=4", "PET_NODE_RANK=2", "PET_MASTER_ADDR=j-0.j", "PET_MASTER_PORT=29500"}),
            "2 of 4 at j-0.j:29500");
  EXPECT_EQ(place({"PET_NNODES=2:2", "PET_NODE_RANK=0", "PET_MASTER_ADDR=fd00::1", "PET_MASTER_PORT=1"}),
            "0 of 2 at [fd00::1]:1");
  EXPECT_EQ(place({"PET_NNODES=2", "PET_NODE_RANK=1", "PET_RDZV_ENDPOINT=a:7", "PET_MASTER_ADDR=b"}), "1 of 2 at a:7");
  EXPECT_EQ(place({"PET_NNODES=2"}), "? of 2 at ");
  EXPECT_EQ(place({"PET_NNODES=1:4"}), "? of 4 at ");
  EXPECT_EQ(read_place({"PET_NNODES=1:4"}, {}).node->least, 1);
  EXPECT_EQ(place({"PET_NNODES=4:1"}), "PET_NNODES=4:1: expected a number of nodes, or MIN:MAX");
  EXPECT_EQ(place({"PET_NNODES=x"}), "PET_NNODES=x: expected a number of nodes, or MIN:MAX");
}

TEST(NodePlaces, ReadsVariablesOfAwsBatch) {
  const auto node = [](const char* index, const char* main) {
    return place({"AWS_BATCH_JOB_NUM_NODES=4", std::string("AWS_BATCH_JOB_NODE_INDEX=") + index,
                  std::string("AWS_BATCH_JOB_MAIN_NODE_INDEX=") + main,
                  "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS=10.0.0.4"});
  };
  EXPECT_EQ(node("3", "0"), "3 of 4 at 10.0.0.4");
  EXPECT_EQ(node("0", "2"), "1 of 4 at 10.0.0.4");
  EXPECT_EQ(node("2", "2"), "0 of 4 at 10.0.0.4");
  EXPECT_EQ(node("3", "2"), "3 of 4 at 10.0.0.4");
  EXPECT_EQ(place({"AWS_BATCH_JOB_NUM_NODES=2", "AWS_BATCH_JOB_NODE_INDEX=0", "AWS_BATCH_JOB_MAIN_NODE_INDEX=0"}),
            "0 of 2 at ");
}

TEST(NodePlaces, ReadsVariablesOfAnIndexedJob) { EXPECT_EQ(place({"JOB_COMPLETION_INDEX=3"}), "3 of ? at "); }

TEST(NodePlaces, ReadsVariablesOfASlurmStep) {
  const Environment step = {"SLURM_JOB_ID=7",         "SLURM_STEP_ID=1",        "SLURM_PROCID=1",
                            "SLURM_STEP_NUM_TASKS=3", "SLURM_STEP_NUM_NODES=3", "SLURM_STEP_NODELIST=node[2-3],x"};
  EXPECT_EQ(place(step), "1 of 3 at node2:29408");
  Environment old = step;
  old.emplace_back("SLURM_JOB_ID=12345678");
  EXPECT_EQ(place(old), "1 of 3 at node2:29479") << "a number above 100,000, as on any cluster that has run for long";
  Environment many = step;
  many.emplace_back("SLURM_STEP_NUM_TASKS=6");
  EXPECT_EQ(
      place(many),
      "SLURM_STEP_NUM_TASKS=6: the step has 3 nodes, and --same-line requires one task per node: --ntasks-per-node=1");
}

TEST(NodePlaces, RejectsACopyOnEachNode) {
  const auto refused = read_place({"PET_NNODES=2", "PET_NODE_RANK=1"}, {}).copies;
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->where, "PET_NNODES=2");
  EXPECT_EQ(refused->what, "2 nodes start copies of dlaunch: each copy would run the whole job");
  EXPECT_TRUE(read_place({"AWS_BATCH_JOB_NUM_NODES=3", "AWS_BATCH_JOB_NODE_INDEX=0"}, {}).copies);
  for (const Environment& alone : {Environment{},
                                   {"PET_NNODES=1", "PET_NODE_RANK=0"},
                                   {"PET_NNODES=x"},
                                   {"AWS_BATCH_JOB_NUM_NODES=1"},
                                   {"JOB_COMPLETION_INDEX=3"},
                                   {"PET_NNODES=2", "DLAUNCH_RANK=0"},
                                   {"PET_NNODES=2", "TORCHELASTIC_RUN_ID=7"}}) {
    EXPECT_FALSE(read_place(alone, {}).copies) << (alone.empty() ? "" : alone.front());
  }
}

TEST(NodePlaces, RejectsCopiesStartedByAnotherLauncher) {
  const auto said = [](const Environment& environment) {
    const auto error = read_place(environment, {}).copies;
    return error ? to_text(*error) : "";
  };
  const std::pair<Environment, const char*> copies[] = {
      {{"OMPI_COMM_WORLD_SIZE=2", "OMPI_COMM_WORLD_RANK=1"}, "OMPI_COMM_WORLD_SIZE=2: mpirun started 2 copies of"},
      {{"PMI_SIZE=4", "PMI_RANK=0"}, "PMI_SIZE=4: mpiexec started 4 copies of dlaunch"},
      {{"PALS_RANKID=0"}, "PALS_RANKID=0: mpiexec or aprun may have started several copies of dlaunch"},
      {{"PALS_RANKID=0", "PMI_SIZE=2"}, "PMI_SIZE=2: mpiexec started 2 copies"},
      {{"PBS_TASKNUM=21", "PBS_NODENUM=1"},
       "PBS_TASKNUM=21: pbsdsh or pbs_tmrsh may have started several copies of dlaunch"}};
  for (const auto& [environment, text] : copies) {
    const std::string error = said(environment);
    EXPECT_NE(error.find(text), std::string::npos) << error;
    EXPECT_NE(error.find("each copy would run the whole job"), std::string::npos) << error;
    EXPECT_NE(error.find("--ignore-resource-manager"), std::string::npos) << error;
    Environment nested = environment;
    nested.emplace_back("DLAUNCH_RANK=0");
    EXPECT_EQ(said(nested), "");
  }
  for (const Environment& alone : {Environment{"OMPI_COMM_WORLD_SIZE=1"},
                                   {"PMI_SIZE=1"},
                                   {"PMI_SIZE=x"},
                                   {"PALS_RANKID=0", "PMI_SIZE=1"},
                                   {"PBS_TASKNUM=1", "PBS_NODENUM=0"}}) {
    EXPECT_EQ(said(alone), "") << alone.front();
  }
}

TEST(NodePlaces, EmptyOutsideSuchSystems) { EXPECT_EQ(place({"HOME=/root", "SLURM_JOB_ID=7"}), "? of ? at "); }

}  // namespace
}  // namespace dlaunch::place
