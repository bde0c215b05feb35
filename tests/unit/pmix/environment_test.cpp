#include "pmix/environment.h"

#include <gmock/gmock.h>

namespace dlaunch::pmix {
namespace {

using testing::Contains;
using testing::IsSupersetOf;
using testing::Not;
using testing::StartsWith;

Site site() {
  return {.job = "dlaunch-1", .universe = 16, .node = 1, .host = "node1", .port = 4242, .segments = "/dev/shm/x"};
}

Member member() {
  return {
      .space = "dlaunch-1-2", .size = 8, .here = 4, .rank = 6, .local_rank = 2, .node_rank = 5, .command = "python3"};
}

TEST(PmixEnvironment, HasTheRankAndTheServerAddress) {
  for (const Client client : {Client::maybe, Client::surely, Client::personal}) {
    EXPECT_THAT(environment(site(), member(), client),
                IsSupersetOf({"PMIX_NAMESPACE=dlaunch-1-2", "PMIX_RANK=6", "PMIX_HOSTNAME=node1", "JSM_JSRUN_PORT=1",
                              "PMIX_SERVER_URI41=dlaunch-1-host.1;tcp4://127.0.0.1:4242",
                              "PMIX_SERVER_URI2=dlaunch-1-host.1;tcp4://127.0.0.1:4242",
                              "OMPI_MCA_btl_vader_backing_directory=/dev/shm/x"}));
  }
}

TEST(PmixEnvironment, OmitsOpenMpiVariablesForUnknownPrograms) {
  const auto env = environment(site(), member(), Client::maybe);
  EXPECT_THAT(env, Contains("MPIR_CVAR_PMI_VERSION=1"));
  EXPECT_THAT(env, Not(Contains(StartsWith("OMPI_COM"))));
}

TEST(PmixEnvironment, SetsOmpiCommandOnlyForThePersonality) {
  const auto surely = environment(site(), member(), Client::surely);
  EXPECT_THAT(surely,
              IsSupersetOf({"OMPI_COMM_WORLD_RANK=6", "OMPI_COMM_WORLD_LOCAL_RANK=2", "OMPI_COMM_WORLD_SIZE=8",
                            "OMPI_COMM_WORLD_LOCAL_SIZE=4", "OMPI_COMM_WORLD_NODE_RANK=5", "OMPI_UNIVERSE_SIZE=16"}));
  EXPECT_THAT(surely, Not(Contains(StartsWith("OMPI_COMMAND="))));
  EXPECT_THAT(environment(site(), member(), Client::personal), Contains("OMPI_COMMAND=python3"));
}

TEST(PmixEnvironment, CrowdedRanksYield) {
  EXPECT_THAT(environment(site(), member(), Client::maybe), Not(Contains(StartsWith("OMPI_MCA_mpi_oversubscribe"))));
  Member crowded = member();
  crowded.crowded = true;
  EXPECT_THAT(environment(site(), crowded, Client::maybe), Contains("OMPI_MCA_mpi_oversubscribe=1"));
}

TEST(PmixEnvironment, WithoutASegmentDirectoryOpenMpiChooses) {
  Site bare = site();
  bare.segments.clear();
  EXPECT_THAT(environment(bare, member(), Client::maybe), Not(Contains(StartsWith("OMPI_MCA_btl_"))));
}

TEST(PmixEnvironment, RecognisesVariablesOfASingleRank) {
  for (const Client client : {Client::surely, Client::personal}) {
    for (const std::string& entry : environment(site(), member(), client)) {
      EXPECT_TRUE(is_own(entry.substr(0, entry.find('=')))) << entry;
    }
  }
  for (const char* name : {"PATH", "OMPI_MCA_btl", "OMPI_PARENT_PORT"}) EXPECT_FALSE(is_own(name)) << name;
}

TEST(PmixEnvironment, WorldsHaveDistinctNames) {
  EXPECT_EQ(world_space("dlaunch-1", 1), "dlaunch-1");
  EXPECT_EQ(world_space("dlaunch-1", 2), "dlaunch-1-2");
  for (const int world : {1, 2, 10}) EXPECT_EQ(job_space(world_space("dlaunch-1", world), world), "dlaunch-1");
}

}  // namespace
}  // namespace dlaunch::pmix
