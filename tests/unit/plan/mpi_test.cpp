#include "plan/mpi.h"

#include <gmock/gmock.h>

#include "plan/environment.h"
#include "requests.h"

namespace dlaunch::plan {
namespace {

using testing::Contains;
using testing::IsSupersetOf;
using testing::Not;
using testing::StartsWith;

Request asked(int ranks, Mpi mpi = Mpi::automatic) {
  Request made = request(ranks);
  made.mpi = mpi;
  return made;
}

TEST(PlanMpi, SetsIdentityAndServerOfEachRank) {
  const auto plan = make_plan(asked(3), hosts({1, 2}));
  ASSERT_TRUE(plan);
  EXPECT_THAT(rank_environment(*plan, plan->ranks[2]),
              IsSupersetOf({"PMI_FD=60", "PMI_SIZE=3", "PMI_RANK=2", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=2"}));
  EXPECT_EQ(kPmiFd, 60);
}

TEST(PlanMpi, MpiNoneSetsNoVariables) {
  const auto plan = make_plan(asked(1, Mpi::none), local(1));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->mpi, Mpi::none);
  EXPECT_THAT(rank_environment(*plan, plan->ranks[0]), Not(Contains(StartsWith("PMI_"))));
}

TEST(PlanMpi, PmixSetsNoVariablesOfPmi1) {
  const auto plan = make_plan(asked(1, Mpi::pmix), local(1));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->mpi, Mpi::pmix);
  EXPECT_THAT(rank_environment(*plan, plan->ranks[0]), Not(Contains(StartsWith("PMI_"))));
}

TEST(PlanMpi, AutoIsOffForConflictingFrameworks) {
  Request made = asked(1);
  made.frameworks = {Framework::horovod};
  EXPECT_EQ(chosen_mpi(made), Mpi::none);
  made.mpi = Mpi::pmi1;
  EXPECT_EQ(chosen_mpi(made), Mpi::pmi1);
  made.frameworks = {Framework::openmpi};
  made.mpi = Mpi::automatic;
  EXPECT_EQ(chosen_mpi(made), Mpi::pmix);  // PMIx only, without PMI-1
  made.frameworks = {Framework::mpich};
  EXPECT_EQ(chosen_mpi(made), Mpi::pmi1);
  made.frameworks = {Framework::torch};
  made.mpi = Mpi::automatic;
  EXPECT_EQ(chosen_mpi(made), Mpi::automatic);
}

TEST(PlanMpi, RemovesVariablesOfAnOuterJobAndKeepsTheUsers) {
  Request made = asked(1);
  made.environment = {"PMI_RANK=7",        "PMI_SPAWNED=1",    "PMIX_NAMESPACE=x",        "HYDI_CONTROL_FD=3",
                      "MPI_LOCALNRANKS=9", "OMPI_MCA_btl=tcp", "PMI2_CONNECT_TO_SERVER=1"};
  made.apps[0].env = {{"PMI_SIZE", "5"}};
  const auto plan = make_plan(made, local(1));
  ASSERT_TRUE(plan);
  const auto env = rank_environment(*plan, plan->ranks[0]);
  EXPECT_THAT(env, IsSupersetOf({"PMI_RANK=0", "MPI_LOCALNRANKS=1", "OMPI_MCA_btl=tcp", "PMI_SIZE=5"}));
  for (const char* name : {"PMI_SPAWNED", "PMI2_", "PMIX_", "HYDI_", "PMI_RANK=7", "PMI_SIZE=1"}) {
    EXPECT_THAT(env, Not(Contains(StartsWith(name)))) << name;
  }
}

}  // namespace
}  // namespace dlaunch::plan
