#include "pmi/server.h"

#include <gmock/gmock.h>

namespace dlaunch::pmi {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// A host with two ranks in MPI. `alone`: the only host of the job.
PmiServer two(bool alone = true) {
  PmiServer server({"kvs", 4, 8, "(vector,(0,2,2))", 2, alone});
  for (const std::uint32_t rank : {0u, 1u}) {
    server.join(rank, rank);
    EXPECT_THAT(server.received(rank, "cmd=init pmi_version=1 pmi_subversion=1\n"),
                ElementsAre(Send{rank, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"}));
  }
  return server;
}

TEST(PmiServer, FenceWaitsForAllLocalRanks) {
  PmiServer server = two();
  EXPECT_THAT(server.received(0, "cmd=put kvsname=kvs key=a value=1\n"),
              ElementsAre(Send{0, "cmd=put_result rc=0 msg=success\n"}));
  EXPECT_THAT(server.received(0, "cmd=barrier_in\n"), IsEmpty());
  EXPECT_THAT(server.received(1, "cmd=bar"), IsEmpty());
  EXPECT_THAT(server.received(1, "rier_in\n"), ElementsAre(Send{0, "cmd=barrier_out\n"}, Send{1, "cmd=barrier_out\n"}));
  EXPECT_THAT(server.received(1, "cmd=get kvsname=kvs key=a\n"),
              ElementsAre(Send{1, "cmd=get_result rc=0 msg=success value=1\n"}));
}

TEST(PmiServer, FenceOverHostsExchangesKeys) {
  PmiServer server = two(false);
  server.received(1, "cmd=put kvsname=kvs key=b value=2\n");
  server.received(0, "cmd=barrier_in\n");
  EXPECT_THAT(server.received(1, "cmd=barrier_in\n"), ElementsAre(Gather{{"b", "2"}, {}}));
  EXPECT_THAT(server.shared({"c", "3"}, false, false), IsEmpty());
  EXPECT_THAT(server.shared({"b", "2", "d", "4"}, true, false),
              ElementsAre(Send{0, "cmd=barrier_out\n"}, Send{1, "cmd=barrier_out\n"}));
  for (const auto& [key, value] : {std::pair{"b", "2"}, {"c", "3"}, {"d", "4"}}) {
    EXPECT_THAT(server.received(0, std::string("cmd=get kvsname=kvs key=") + key + "\n"),
                ElementsAre(Send{0, std::string("cmd=get_result rc=0 msg=success value=") + value + "\n"}));
  }
  server.received(0, "cmd=barrier_in\n");
  EXPECT_THAT(server.received(1, "cmd=barrier_in\n"), ElementsAre(Gather{{}, {}}));  // pairs are not sent twice
}

TEST(PmiServer, FenceFailsForARankThatHasLeft) {
  PmiServer server = two();
  server.received(0, "cmd=barrier_in\n");
  const Actions actions = server.gone(1);
  ASSERT_EQ(actions.size(), 2u);
  EXPECT_THAT(std::get<PrintWarning>(actions[0]).text, HasSubstr("rank 1 has left MPI"));
  EXPECT_EQ(actions[1], Action(CloseConnection{0}));
  PmiServer over_hosts = two(false);
  over_hosts.gone(1);
  EXPECT_THAT(over_hosts.received(0, "cmd=barrier_in\n"), ElementsAre(Gather{{}, {1}}));
  EXPECT_THAT(over_hosts.shared({}, true, true), ElementsAre(CloseConnection{0}));
}

TEST(PmiServer, KnowsWhetherARankIsInMpi) {
  PmiServer server({"kvs", 1, 1, "", 1, true});
  server.join(0, 0);
  EXPECT_FALSE(server.in_mpi(0));
  server.received(0, "cmd=init pmi_version=1 pmi_subversion=1\n");
  EXPECT_TRUE(server.in_mpi(0));
  EXPECT_THAT(server.received(0, "cmd=finalize\n"), ElementsAre(Send{0, "cmd=finalize_ack\n"}));
  EXPECT_FALSE(server.in_mpi(0));
  EXPECT_FALSE(server.in_mpi(9));
}

TEST(PmiServer, ReportsAnAbortOnceWithItsCode) {
  for (const auto& [said, code] : {std::pair{"7", 7u}, {"256", 0u}, {"-1", 255u}, {"x", 1u}, {"99999999999", 1u}}) {
    PmiServer server = two();
    const std::string line = std::string("cmd=abort exitcode=") + said + "\n";
    EXPECT_THAT(server.received(1, line), ElementsAre(Abort{1, code})) << said;
    EXPECT_THAT(server.received(1, line), IsEmpty());
  }
}

TEST(PmiServer, IgnoresTheMessageAfterAnAbort) {
  PmiServer server = two();
  EXPECT_THAT(
      server.received(1, "cmd=abort exitcode=15 message=Fatal error, error stack:\ninternal_Barrier(1): failed\n"),
      ElementsAre(Abort{1, 15u}));  // the format of MPICH 4.2
  EXPECT_THAT(server.received(1, "MPIR_Barrier_impl(2):\n" + std::string(100'000, 'x')), IsEmpty());
  EXPECT_TRUE(server.in_mpi(1));
}

TEST(PmiServer, AcceptsAnAbortOfAnotherThreadDuringARequest) {
  for (const char* request : {"cmd=barrier_in\n", "cmd=lookup_name service=s\n",
                              "mcmd=spawn\nnprocs=1\nexecname=x\ntotspawns=1\nspawnssofar=1\nendcmd\n"}) {
    PmiServer server = two();
    server.received(1, request);
    EXPECT_THAT(server.received(1, "cmd=abort exit"), IsEmpty()) << request;
    EXPECT_THAT(server.received(1, "code=7\n"), ElementsAre(Abort{1, 7u})) << request;
    EXPECT_THAT(server.received(1, "cmd=get_maxes\n"), IsEmpty()) << request;
  }
  PmiServer server = two();
  server.received(1, "cmd=barrier_in\n");
  EXPECT_THAT(
      server.received(1, "cmd=abortive\n"),
      ElementsAre(
          PrintWarning{"rank 1 sent a request before the answer to its last request; the rank gets no more answers"},
          CloseConnection{1}));
}

TEST(PmiServer, ForwardsNameRequestsAndAnswers) {
  PmiServer server = two();
  EXPECT_THAT(server.received(0, "cmd=publish_name service=s port=p\n"),
              ElementsAre(AskName{0, NameOp::publish, "s", "p"}));
  EXPECT_THAT(server.name_answered(1, true, ""), IsEmpty());  // without a request of this rank
  EXPECT_THAT(server.name_answered(0, true, ""), ElementsAre(Send{0, "cmd=publish_result info=ok rc=0 msg=success\n"}));
  server.received(1, "cmd=lookup_name service=s\n");
  EXPECT_THAT(server.name_answered(1, true, "p"),
              ElementsAre(Send{1, "cmd=lookup_result port=p info=ok rc=0 msg=success\n"}));
  server.received(1, "cmd=lookup_name service=t\n");
  EXPECT_THAT(server.name_answered(1, false, ""),
              ElementsAre(Send{1, "cmd=lookup_result info=not_found rc=1 msg=service_not_found\n"}));
}

TEST(PmiServer, ReportsAFullKeyValueSpaceOncePerRank) {
  PmiServer server = two();
  const std::string put = "cmd=put kvsname=kvs key=a value=" + std::string(1024, 'v') + "\n";
  Actions refused;
  while ((refused = server.received(1, put)).size() == 1 && server.received(0, "cmd=get_maxes\n").size() == 1) {
  }
  const Send answer{1, "cmd=put_result rc=-1 msg=space_is_full\n"};
  ASSERT_EQ(refused.size(), 2u);
  EXPECT_THAT(std::get<PrintWarning>(refused[0]).text, HasSubstr("rank 1 exceeded the limit of MPI's key-value space"));
  EXPECT_EQ(refused[1], Action(answer));
  EXPECT_THAT(server.received(1, put), ElementsAre(answer));
}

TEST(PmiServer, ReportsPairsOfOtherHostsAboveTheLimit) {
  PmiServer server({"kvs", 4, 4, "", 1, false});
  server.join(0, 0);
  server.received(0, "cmd=init pmi_version=1 pmi_subversion=1\n");
  const std::string half(kMaxSpace / 2, 'v');
  for (const char* key : {"a", "b"}) {
    EXPECT_EQ(server.received(0, "cmd=barrier_in\n").size(), 1u);
    const Actions ended = server.shared({key, half}, true, false);
    if (*key == 'a') {
      EXPECT_THAT(ended, ElementsAre(Send{0, "cmd=barrier_out\n"}));
    } else {
      ASSERT_EQ(ended.size(), 2u);
      EXPECT_THAT(std::get<PrintWarning>(ended[0]).text, HasSubstr("exceeded the limit of MPI's key-value space"));
      EXPECT_EQ(ended[1], Action(CloseConnection{0}));
    }
  }
}

TEST(PmiServer, RejectsRequestsAfterFinalize) {
  PmiServer server = two();
  server.received(0, "cmd=finalize\n");
  EXPECT_THAT(std::get<PrintWarning>(server.received(0, "cmd=get_maxes\n").at(0)).text,
              HasSubstr("sent a request after finalize"));
}

TEST(PmiServer, WithoutAMappingTheKeyIsMissing) {
  PmiServer server({"kvs", 1, 1, "", 1, true});
  server.join(0, 0);
  server.received(0, "cmd=init pmi_version=1 pmi_subversion=1\n");
  EXPECT_THAT(server.received(0, "cmd=get kvsname=kvs key=PMI_process_mapping\n"),
              ElementsAre(Send{0, "cmd=get_result rc=-1 msg=key_PMI_process_mapping_not_found value=unknown\n"}));
}

TEST(PmiServer, DisconnectsOnlyTheClientThatViolatesPmi) {
  for (const char* breach : {"cmd=what\n", "what\n", "\n", "cmd=barrier_in\ncmd=get_maxes\n",
                             "cmd=init pmi_version=1 pmi_subversion=1\n", "cmd=publish_name port=p\n"}) {
    PmiServer server = two();
    const Actions actions = server.received(0, breach);
    ASSERT_EQ(actions.size(), 2u) << breach;
    EXPECT_THAT(std::get<PrintWarning>(actions[0]).text, HasSubstr("rank 0 ")) << breach;
    EXPECT_EQ(actions[1], Action(CloseConnection{0})) << breach;
    EXPECT_THAT(server.received(0, "cmd=get_maxes\n"), IsEmpty());
    EXPECT_EQ(server.received(1, "cmd=get_maxes\n").size(), 1u);
  }
}

TEST(PmiServer, ForwardsASpawnAndItsAnswer) {
  PmiServer server = two();
  EXPECT_THAT(server.received(0, "mcmd=spawn\nnprocs=2\nexecname=a\narg1=b c\n"), IsEmpty());
  EXPECT_THAT(server.received(0, "endcmd\n"), ElementsAre(AskSpawn{0, {{{"a", "b c"}, 2, "", {}, {}}}, {}}));
  EXPECT_THAT(server.spawn_answered(1, true, "s"), IsEmpty());  // without a request of this rank
  EXPECT_THAT(server.spawn_answered(0, true, "s"), ElementsAre(Send{0, "cmd=spawn_result rc=0 jobid=s nerrs=0\n"}));
  server.received(0, "mcmd=spawn\nexecname=a\nendcmd\n");
  EXPECT_THAT(server.spawn_answered(0, false, ""),
              ElementsAre(Send{0, "cmd=spawn_result rc=-1 status=spawn_failed\n"}));
  EXPECT_EQ(server.received(0, "cmd=get_maxes\n").size(), 1u);
}

TEST(PmiServer, NumbersRanksAndProgramsOfALaterWorldFromZero) {
  PmiServer server({"kvs_2", 2, 8, "", 2, true, 2, 7, 3});
  server.preload({"PORT", "tag#0$"});
  for (const std::uint32_t rank : {7u, 8u}) {
    server.join(rank, rank - 4);
    server.received(rank, "cmd=init pmi_version=1 pmi_subversion=1\n");
  }
  EXPECT_THAT(server.received(8, "cmd=get_appnum\n"), ElementsAre(Send{8, "cmd=appnum appnum=1\n"}));
  EXPECT_THAT(server.received(7, "cmd=get kvsname=kvs_2 key=PORT\n"),
              ElementsAre(Send{7, "cmd=get_result rc=0 msg=success value=tag#0$\n"}));
  server.received(7, "cmd=barrier_in\n");
  EXPECT_THAT(std::get<PrintWarning>(server.received(8, "what\n").at(0)).text, HasSubstr("rank 2/1 sent"));
}

}  // namespace
}  // namespace dlaunch::pmi
