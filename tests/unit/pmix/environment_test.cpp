#include "pmix/environment.h"

#include <gmock/gmock.h>

namespace dlaunch::pmix {
namespace {

using testing::Contains;
using testing::IsSupersetOf;
using testing::Not;
using testing::StartsWith;

Site site() { return {"dlaunch-1", 8, 4, 1, "node1", 4242, "/dev/shm/x", false}; }

TEST(PmixEnvironment, SaysWhoTheRankIsAndWhereItsServerIs) {
  for (const Client client : {Client::maybe, Client::surely, Client::personal}) {
    EXPECT_THAT(environment(site(), 6, 2, client),
                IsSupersetOf({"PMIX_NAMESPACE=dlaunch-1", "PMIX_RANK=6", "PMIX_HOSTNAME=node1", "JSM_JSRUN_PORT=1",
                              "PMIX_SERVER_URI41=dlaunch-1-host.1;tcp4://127.0.0.1:4242",
                              "PMIX_SERVER_URI2=dlaunch-1-host.1;tcp4://127.0.0.1:4242",
                              "OMPI_MCA_btl_vader_backing_directory=/dev/shm/x"}));
  }
}

TEST(PmixEnvironment, WhatMayBeAnythingIsNotToldThatItIsOpenMpi) {
  const auto env = environment(site(), 6, 2, Client::maybe);
  EXPECT_THAT(env, Contains("MPIR_CVAR_PMI_VERSION=1"));
  EXPECT_THAT(env, Not(Contains(StartsWith("OMPI_COM"))));
}

TEST(PmixEnvironment, OpenMpisOwnLauncherIsNamedOnlyWhereItIsMeant) {
  const auto surely = environment(site(), 6, 2, Client::surely);
  EXPECT_THAT(surely, IsSupersetOf({"OMPI_COMM_WORLD_RANK=6", "OMPI_COMM_WORLD_LOCAL_RANK=2", "OMPI_COMM_WORLD_SIZE=8",
                                    "OMPI_COMM_WORLD_LOCAL_SIZE=4"}));
  EXPECT_THAT(surely, Not(Contains(StartsWith("OMPI_COMMAND="))));
  EXPECT_THAT(environment(site(), 6, 2, Client::personal), Contains("OMPI_COMMAND=dlaunch"));
}

TEST(PmixEnvironment, CrowdedRanksYield) {
  Site crowded = site();
  EXPECT_THAT(environment(crowded, 0, 0, Client::maybe), Not(Contains(StartsWith("OMPI_MCA_mpi_oversubscribe"))));
  crowded.crowded = true;
  crowded.segments.clear();
  const auto env = environment(crowded, 0, 0, Client::maybe);
  EXPECT_THAT(env, Contains("OMPI_MCA_mpi_oversubscribe=1"));
  EXPECT_THAT(env, Not(Contains(StartsWith("OMPI_MCA_btl_"))));
}

}  // namespace
}  // namespace dlaunch::pmix
