#include <gmock/gmock.h>

#include "pmi/server.h"

namespace dlaunch::pmi {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string frame(std::string_view text) { return (std::to_string(text.size()) + "      ").substr(0, 6).append(text); }

/// A host with `ranks` ranks in PMI-2. `alone`: the only host of the job.
PmiServer host(std::uint32_t ranks, bool alone = true) {
  PmiServer server({"kvs", 4, 8, "(vector,(0,2,2))", ranks, alone});
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    server.join(rank, rank);
    server.received(rank, "cmd=init pmi_version=2 pmi_subversion=0\n");
    server.received(rank, frame("cmd=fullinit;pmirank=0;threaded=FALSE;"));
  }
  return server;
}

Actions ask(PmiServer& server, std::uint32_t rank, std::string_view text) { return server.received(rank, frame(text)); }
Send said(std::uint32_t rank, std::string_view text) { return {rank, frame(text)}; }

TEST(Pmi2, FirstLineSelectsPmi2AndFramesFollow) {
  PmiServer server({"kvs", 4, 8, "", 2, true});
  server.join(1, 3);
  const std::string init = "cmd=init pmi_version=2 pmi_subversion=0\n";
  EXPECT_THAT(server.received(1, init + frame("cmd=fullinit;pmijobid=x;pmirank=1;threaded=FALSE;")),
              ElementsAre(Send{1, "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0\n"},
                          said(1,
                               "cmd=fullinit-response;pmi-version=2;pmi-subversion=0;rank=1;size=4;appnum=3;"
                               "debugged=FALSE;pmiverbose=FALSE;rc=0;")));
  EXPECT_TRUE(server.in_mpi(1));
  EXPECT_THAT(ask(server, 1, "cmd=finalize;"), ElementsAre(said(1, "cmd=finalize-response;rc=0;")));
  EXPECT_FALSE(server.in_mpi(1));
}

TEST(Pmi2, KeysAreAvailableAfterTheFence) {
  PmiServer server = host(2, false);
  EXPECT_THAT(ask(server, 0, "cmd=kvs-put;thrid=0x12;key=a;value=x;;y;"),
              ElementsAre(said(0, "cmd=kvs-put-response;thrid=0x12;rc=0;")));
  EXPECT_THAT(ask(server, 0, "cmd=kvs-fence;thrid=0x13;"), IsEmpty());
  EXPECT_THAT(ask(server, 1, "cmd=kvs-fence;"), ElementsAre(Gather{{"a", "x;y"}, {}}));
  EXPECT_THAT(server.shared({"a", "x;y", "b", "2"}, true, false),
              ElementsAre(said(0, "cmd=kvs-fence-response;thrid=0x13;rc=0;"), said(1, "cmd=kvs-fence-response;rc=0;")));
  EXPECT_THAT(ask(server, 1, "cmd=kvs-get;jobid=kvs;srcid=0;key=a;"),
              ElementsAre(said(1, "cmd=kvs-get-response;found=TRUE;value=x;;y;rc=0;")));
  EXPECT_THAT(ask(server, 1, "cmd=kvs-get;key=b;"),
              ElementsAre(said(1, "cmd=kvs-get-response;found=TRUE;value=2;rc=0;")));
  for (const char* missing : {"cmd=kvs-get;key=c;", "cmd=kvs-get;jobid=other;key=a;"}) {
    EXPECT_THAT(ask(server, 1, missing), ElementsAre(said(1, "cmd=kvs-get-response;found=FALSE;rc=0;"))) << missing;
  }
}

TEST(Pmi2, RejectsKeysAndValuesAboveTheLimit) {
  PmiServer server = host(1);
  const std::string put = "cmd=kvs-put;key=";
  for (const auto& [text, why] : {std::pair{put + std::string(65, 'k') + ";value=a;", "bad_key_length"},
                                  {put + "a;value=" + std::string(1025, 'v') + ";", "value_too_long"},
                                  {put + "PMI_process_mapping;value=a;", "reserved_key"}}) {
    EXPECT_THAT(ask(server, 0, text),
                ElementsAre(said(0, std::string("cmd=kvs-put-response;rc=14;errmsg=") + why + ";")));
  }
}

TEST(Pmi2, Pmi1AndPmi2ShareFencesAndKeys) {
  PmiServer server({"kvs", 2, 2, "", 2, true});
  for (const std::uint32_t rank : {0u, 1u}) server.join(rank, 0);
  server.received(0, "cmd=init pmi_version=1 pmi_subversion=1\n");
  server.received(1, "cmd=init pmi_version=2 pmi_subversion=0\n" + frame("cmd=fullinit;"));
  ask(server, 1, "cmd=kvs-put;key=word;value=1;");
  ask(server, 1, "cmd=kvs-put;key=text;value=two words;");
  server.received(0, "cmd=put kvsname=kvs key=line value=0;\n");
  server.received(0, "cmd=barrier_in\n");
  EXPECT_THAT(ask(server, 1, "cmd=kvs-fence;"),
              ElementsAre(Send{0, "cmd=barrier_out\n"}, said(1, "cmd=kvs-fence-response;rc=0;")));
  EXPECT_THAT(ask(server, 1, "cmd=kvs-get;key=line;"),
              ElementsAre(said(1, "cmd=kvs-get-response;found=TRUE;value=0;;;rc=0;")));
  EXPECT_THAT(server.received(0, "cmd=get kvsname=kvs key=word\n"),
              ElementsAre(Send{0, "cmd=get_result rc=0 msg=success value=1\n"}));
  EXPECT_THAT(server.received(0, "cmd=get kvsname=kvs key=text\n"),
              ElementsAre(Send{0, "cmd=get_result rc=-1 msg=key_text_not_found value=unknown\n"}));
}

TEST(Pmi2, WaitsForANodeAttribute) {
  PmiServer server = host(3);
  EXPECT_THAT(ask(server, 0, "cmd=info-getnodeattr;key=a;wait=FALSE;"),
              ElementsAre(said(0, "cmd=info-getnodeattr-response;found=FALSE;rc=0;")));
  EXPECT_THAT(ask(server, 0, "cmd=info-getnodeattr;thrid=0x7;key=a;wait=TRUE;"), IsEmpty());
  EXPECT_THAT(ask(server, 2, "cmd=info-getnodeattr;key=b;wait=TRUE;"), IsEmpty());
  EXPECT_THAT(ask(server, 1, "cmd=info-putnodeattr;key=a;value=1;"),
              ElementsAre(said(1, "cmd=info-putnodeattr-response;rc=0;"),
                          said(0, "cmd=info-getnodeattr-response;thrid=0x7;found=TRUE;value=1;rc=0;")));
  EXPECT_THAT(ask(server, 1, "cmd=info-getnodeattr;key=a;wait=TRUE;"),
              ElementsAre(said(1, "cmd=info-getnodeattr-response;found=TRUE;value=1;rc=0;")));
}

TEST(Pmi2, DisconnectsAWaiterIfNoRankCanPutTheAttribute) {
  const auto expect_disconnected = [](const Actions& actions, std::uint32_t rank) {
    ASSERT_GE(actions.size(), 2u);
    EXPECT_THAT(std::get<PrintWarning>(actions[0]).text, HasSubstr("no rank can put the attribute any more: \"a\""));
    EXPECT_EQ(actions[1], Action(CloseConnection{rank}));
  };
  PmiServer left = host(2);
  EXPECT_THAT(ask(left, 0, "cmd=info-getnodeattr;key=a;wait=TRUE;"), IsEmpty());
  expect_disconnected(left.gone(1), 0);
  PmiServer in_fence = host(2);
  ask(in_fence, 1, "cmd=kvs-fence;");
  expect_disconnected(ask(in_fence, 0, "cmd=info-getnodeattr;key=a;wait=TRUE;"), 0);
  PmiServer alone = host(1);
  expect_disconnected(ask(alone, 0, "cmd=info-getnodeattr;key=a;wait=TRUE;"), 0);
}

TEST(Pmi2, LimitsNodeAttributes) {
  PmiServer server = host(1);
  const std::string put = "cmd=info-putnodeattr;key=a;value=" + std::string(1024, 'v') + ";";
  int taken = 0;
  while (ask(server, 0, put) == Actions{said(0, "cmd=info-putnodeattr-response;rc=0;")}) ++taken;
  EXPECT_EQ(taken, 1023);
}

TEST(Pmi2, AnswersJobAttributes) {
  PmiServer server = host(1);
  EXPECT_THAT(ask(server, 0, "cmd=job-getid;"), ElementsAre(said(0, "cmd=job-getid-response;jobid=kvs;rc=0;")));
  EXPECT_THAT(ask(server, 0, "cmd=info-getjobattr;key=PMI_process_mapping;"),
              ElementsAre(said(0, "cmd=info-getjobattr-response;found=TRUE;value=(vector,(0,2,2));rc=0;")));
  EXPECT_THAT(ask(server, 0, "cmd=info-getjobattr;key=universeSize;"),
              ElementsAre(said(0, "cmd=info-getjobattr-response;found=TRUE;value=8;rc=0;")));
  EXPECT_THAT(ask(server, 0, "cmd=info-getjobattr;key=mpi_reserved_ports;"),
              ElementsAre(said(0, "cmd=info-getjobattr-response;found=FALSE;rc=0;")));
}

TEST(Pmi2, ForwardsNameRequestsAndAnswers) {
  PmiServer server = host(1);
  EXPECT_THAT(ask(server, 0, "cmd=name-publish;name=s;port=p q;infokeycount=0;"),
              ElementsAre(AskName{0, NameOp::publish, "s", "p q"}));
  EXPECT_THAT(server.name_answered(0, false, ""),
              ElementsAre(said(0, "cmd=name-publish-response;rc=14;errmsg=key_already_present;")));
  EXPECT_THAT(ask(server, 0, "cmd=name-lookup;name=s;"), ElementsAre(AskName{0, NameOp::lookup, "s", ""}));
  EXPECT_THAT(server.name_answered(0, true, "p q"),
              ElementsAre(said(0, "cmd=name-lookup-response;value=p q;port=p q;rc=0;")));
  EXPECT_THAT(ask(server, 0, "cmd=name-unpublish;name=s;"), ElementsAre(AskName{0, NameOp::unpublish, "s", ""}));
  EXPECT_THAT(server.name_answered(0, true, ""), ElementsAre(said(0, "cmd=name-unpublish-response;rc=0;")));
}

TEST(Pmi2, ReportsAnAbortOfTheWorldOnce) {
  for (const auto& [text, code] : {std::pair{"cmd=abort;isworld=TRUE;msg=so;", 1u},
                                   {"cmd=abort;exitcode=7;message=so;", 7u},
                                   {"cmd=abort;exitcode=7;message=so;and so;;;", 7u},
                                   {"cmd=abort;", 1u}}) {
    PmiServer server = host(2);
    EXPECT_THAT(ask(server, 1, text), ElementsAre(Abort{1, code})) << text;
    EXPECT_THAT(ask(server, 1, text), IsEmpty());
  }
  PmiServer server = host(2);
  EXPECT_THAT(ask(server, 1, "cmd=abort;isworld=FALSE;msg=;"), IsEmpty());
}

TEST(Pmi2, AcceptsAnAbortOfAnotherThreadDuringARequest) {
  PmiServer server = host(2);
  EXPECT_THAT(ask(server, 1, "cmd=kvs-fence;"), IsEmpty());
  EXPECT_THAT(ask(server, 1, "cmd=abort;isworld=FALSE;msg=;"), IsEmpty());
  EXPECT_THAT(ask(server, 1, "cmd=abort;exitcode=7;message=so;"), ElementsAre(Abort{1, 7u}));
}

TEST(Pmi2, AnswersUnsupportedCommands) {
  for (const char* command : {"job-connect", "job-disconnect", "ring"}) {
    PmiServer server = host(1);
    EXPECT_THAT(ask(server, 0, std::string("cmd=") + command + ";"),
                ElementsAre(said(0, std::string("cmd=") + command + "-response;rc=14;errmsg=not_supported;")));
  }
}

TEST(Pmi2, ForwardsASpawnAndItsAnswer) {
  PmiServer server = host(2);
  const std::string spawn =
      "cmd=spawn;thrid=0x5;ncmds=1;preputcount=1;ppkey0=k;ppval0=v;subcmd=a;maxprocs=2;argc=1;argv0=b c;";
  const AskSpawn asked{0, {{{"a", "b c"}, 2, "", {}, {}}}, {"k", "v"}};
  EXPECT_THAT(server.received(0, frame(spawn).substr(0, 30)), IsEmpty());
  EXPECT_THAT(server.received(0, frame(spawn).substr(30)), ElementsAre(asked));
  EXPECT_THAT(server.spawn_answered(1, true, "s"), IsEmpty());  // without a request of this rank
  EXPECT_THAT(server.spawn_answered(0, true, "s"),
              ElementsAre(said(0, "cmd=spawn-response;thrid=0x5;jobid=s;nerrs=0;rc=0;")));
  EXPECT_THAT(ask(server, 0, spawn), ElementsAre(asked));
  EXPECT_THAT(server.spawn_answered(0, false, ""),
              ElementsAre(said(0, "cmd=spawn-response;thrid=0x5;rc=14;errmsg=spawn_failed;")));
  EXPECT_EQ(ask(server, 0, "cmd=job-getid;").size(), 1u);
}

TEST(Pmi2, AcceptsASpawnOfMaximumFrameSize) {
  PmiServer server = host(1);
  const std::string spawn = "cmd=spawn;ncmds=1;preputcount=0;subcmd=a;maxprocs=1;argc=1;argv0=";
  const std::string word(999'999 - spawn.size() - 1, 'x');
  EXPECT_THAT(ask(server, 0, spawn + word + ";"), ElementsAre(AskSpawn{0, {{{"a", word}, 1, "", {}, {}}}, {}}));
}

TEST(Pmi2, SpawnedRankGetsItsSpawner) {
  PmiServer server({"kvs_2", 2, 8, "", 2, true, 2, 7, 3, "kvs"});
  server.preload({"PORT", "tag#0;"});
  for (const std::uint32_t rank : {7u, 8u}) server.join(rank, rank - 4);
  EXPECT_THAT(server.received(8, "cmd=init pmi_version=2 pmi_subversion=0\n" + frame("cmd=fullinit;"))[1],
              Action(said(8,
                          "cmd=fullinit-response;pmi-version=2;pmi-subversion=0;rank=1;size=2;appnum=1;"
                          "spawner-jobid=kvs;debugged=FALSE;pmiverbose=FALSE;rc=0;")));
  EXPECT_THAT(ask(server, 8, "cmd=job-getid;"), ElementsAre(said(8, "cmd=job-getid-response;jobid=kvs_2;rc=0;")));
  EXPECT_THAT(ask(server, 8, "cmd=kvs-get;jobid=kvs_2;srcid=-1;key=PORT;"),
              ElementsAre(said(8, "cmd=kvs-get-response;found=TRUE;value=tag#0;;;rc=0;")));
  server.received(7, "cmd=init pmi_version=1 pmi_subversion=1\n");
  EXPECT_THAT(server.received(7, "cmd=get kvsname=kvs_2 key=PORT\n"),
              ElementsAre(Send{7, "cmd=get_result rc=0 msg=success value=tag#0;\n"}));
}

TEST(Pmi2, DisconnectsOnlyTheClientThatViolatesTheProtocol) {
  for (const std::string& breach :
       {frame("cmd=what;"), frame("what"), frame("cmd=get_maxes"), std::string("cmd=kvs-fence;"), std::string("-1    "),
        frame("cmd=kvs-fence;") + frame("cmd=job-getid;"), frame("cmd=fullinit;"), frame("cmd=name-publish;port=p;"),
        frame("cmd=kvs-get;thrid=" + std::string(65, '1') + ";key=a;"), frame("cmd=spawn;ncmds=1;"),
        std::string("cmd=barrier_in\n")}) {
    PmiServer server = host(2);
    const Actions actions = server.received(0, breach);
    ASSERT_EQ(actions.size(), 2u) << breach;
    EXPECT_THAT(std::get<PrintWarning>(actions[0]).text, HasSubstr("rank 0 ")) << breach;
    EXPECT_EQ(actions[1], Action(CloseConnection{0})) << breach;
    EXPECT_THAT(ask(server, 0, "cmd=job-getid;"), IsEmpty());
    EXPECT_EQ(ask(server, 1, "cmd=job-getid;").size(), 1u);
  }
}

TEST(Pmi2, RejectsRequestsBeforeFullinit) {
  PmiServer server({"kvs", 1, 1, "", 1, true});
  server.join(0, 0);
  const Actions actions = server.received(0, "cmd=init pmi_version=2 pmi_subversion=0\n" + frame("cmd=job-getid;"));
  ASSERT_EQ(actions.size(), 3u);
  EXPECT_THAT(std::get<PrintWarning>(actions[1]).text, HasSubstr("sent a request before init"));
}

}  // namespace
}  // namespace dlaunch::pmi
