#include "pmix/environment.h"

#include <gmock/gmock.h>

namespace dlaunch::pmix {
namespace {

using testing::Contains;
using testing::IsSupersetOf;
using testing::Not;
using testing::StartsWith;

Site site() {
  return {.space = "dlaunch-1",
          .size = 8,
          .universe = 16,
          .here = 4,
          .node = 1,
          .host = "node1",
          .port = 4242,
          .segments = "/dev/shm/x"};
}

TEST(PmixEnvironment, SaysWhoTheRankIsAndWhereItsServerIs) {
  for (const Client client : {Client::maybe, Client::surely, Client::personal}) {
    EXPECT_THAT(environment(site(), 6, 2, client, "python3"),
                IsSupersetOf({"PMIX_NAMESPACE=dlaunch-1", "PMIX_RANK=6", "PMIX_HOSTNAME=node1", "JSM_JSRUN_PORT=1",
                              "PMIX_SERVER_URI41=dlaunch-1-host.1;tcp4://127.0.0.1:4242",
                              "PMIX_SERVER_URI2=dlaunch-1-host.1;tcp4://127.0.0.1:4242",
                              "OMPI_MCA_btl_vader_backing_directory=/dev/shm/x"}));
  }
}

TEST(PmixEnvironment, WhatMayBeAnythingIsNotToldThatItIsOpenMpi) {
  const auto env = environment(site(), 6, 2, Client::maybe, "python3");
  EXPECT_THAT(env, Contains("MPIR_CVAR_PMI_VERSION=1"));
  EXPECT_THAT(env, Not(Contains(StartsWith("OMPI_COM"))));
}

TEST(PmixEnvironment, OpenMpisOwnLauncherIsNamedOnlyWhereItIsMeant) {
  const auto surely = environment(site(), 6, 2, Client::surely, "python3");
  EXPECT_THAT(surely, IsSupersetOf({"OMPI_COMM_WORLD_RANK=6", "OMPI_COMM_WORLD_LOCAL_RANK=2", "OMPI_COMM_WORLD_SIZE=8",
                                    "OMPI_COMM_WORLD_LOCAL_SIZE=4", "OMPI_UNIVERSE_SIZE=16"}));
  EXPECT_THAT(surely, Not(Contains(StartsWith("OMPI_COMMAND="))));
  EXPECT_THAT(environment(site(), 6, 2, Client::personal, "python3"), Contains("OMPI_COMMAND=python3"));
}

TEST(PmixEnvironment, CrowdedRanksYield) {
  Site crowded = site();
  EXPECT_THAT(environment(crowded, 0, 0, Client::maybe, "python3"),
              Not(Contains(StartsWith("OMPI_MCA_mpi_oversubscribe"))));
  crowded.crowded = true;
  crowded.segments.clear();
  const auto env = environment(crowded, 0, 0, Client::maybe, "python3");
  EXPECT_THAT(env, Contains("OMPI_MCA_mpi_oversubscribe=1"));
  EXPECT_THAT(env, Not(Contains(StartsWith("OMPI_MCA_btl_"))));
}

}  // namespace
}  // namespace dlaunch::pmix
