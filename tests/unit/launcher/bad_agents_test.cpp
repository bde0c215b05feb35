// Agents that go away, fall silent, or say what they must not. A script each.
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>

#include "stage.h"
#include "wire/spawn.h"

namespace dlaunch::launcher {
namespace {

using namespace std::chrono_literals;
using job::Cause;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class BadAgents : public Stage {
 protected:
  /// A job whose ranks may use MPI, `ranks` on each host.
  job::Outcome run_mpi(int ranks = 1) {
    return run({"true"}, ranks, [](plan::Plan& plan) { plan.mpi = plan::Mpi::automatic; });
  }
  void expect_lost(const job::Outcome& outcome, const std::string& why) {
    EXPECT_EQ(outcome.cause, Cause::host_lost);
    EXPECT_EQ(outcome.exit_code, 125);
    EXPECT_THAT(outcome.detail, HasSubstr("n0"));
    EXPECT_THAT(outcome.detail, HasSubstr(why));
  }
};

TEST_F(BadAgents, AGoodScriptMakesAGoodJob) {
  hosts.script([](Script& agent) {
    agent.hello();
    const auto spawn = agent.expect<wire::Spawn>();
    agent.started(spawn.rank);
    agent.send(wire::OutputData{spawn.rank, 1, 15, "said\n"});
    agent.ended(spawn.rank);
    agent.finish();
  });
  const auto outcome = run();
  EXPECT_EQ(outcome.cause, Cause::success);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.leftovers, IsEmpty());
  EXPECT_EQ(outcome.ranks[0].pid, 1000);
  EXPECT_EQ(out.text(), "said\n");
}

TEST_F(BadAgents, TheLinkEndsBeforeHello) {
  hosts.script([](Script& agent) { agent.expect<wire::Setup>(); });
  expect_lost(run(), "the link to its agent ended");
}

TEST_F(BadAgents, TheLinkEndsAfterStarted) {
  hosts.script([](Script& agent) {
    agent.hello();
    agent.expect<wire::Spawn>();
    agent.started(0);
    agent.send(wire::OutputData{0, 1, 15, "half a li"});
  });
  const auto outcome = run();
  expect_lost(outcome, "the link to its agent ended");
  ASSERT_TRUE(outcome.ranks[0].status);
  EXPECT_TRUE(std::holds_alternative<Lost>(outcome.ranks[0].status->value()));
  EXPECT_THAT(out.text(), HasSubstr("half a li"));
}

TEST_F(BadAgents, TheLinkEndsWhileItConfirms) {
  hosts.script([](Script& agent) {
    agent.hello();
    agent.expect<wire::Spawn>();
    agent.started(0);
    agent.ended(0);
    agent.expect<wire::Finish>();
  });
  const auto outcome = run();
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.leftovers, IsEmpty());
  EXPECT_THAT(outcome.swept, ElementsAre(0));
}

TEST_F(BadAgents, TheLinkEndsAndTheHostIsNotReachedAgain) {
  hosts.script([](Script& agent) {
    agent.hello();
    agent.expect<wire::Spawn>();
    agent.started(0);
  });
  hosts.unreachable_again();
  const auto outcome = run();
  EXPECT_EQ(outcome.exit_code, 125);
  EXPECT_THAT(outcome.leftovers, ElementsAre(HasSubstr("not reached again")));
  EXPECT_EQ(outcome.unswept.size(), 1u);
}

TEST_F(BadAgents, TheNextOneFindsWhatDoesNotGo) {
  hosts.script([](Script& agent) {
    agent.hello();
    agent.expect<wire::Spawn>();
    agent.started(0);
  });
  hosts.script_again([](Script& agent) {
    agent.hello();
    agent.expect<wire::Sweep>();
    agent.send(wire::Clean{{"pid 7 (x), state D"}});
    agent.until_gone();
  });
  const auto outcome = run();
  EXPECT_EQ(outcome.exit_code, 125);
  EXPECT_THAT(outcome.leftovers, ElementsAre(HasSubstr("pid 7 (x), state D")));
  EXPECT_THAT(outcome.unswept, IsEmpty());
}

TEST_F(BadAgents, Garbage) {
  hosts.script([](Script& agent) {
    agent.hello();
    agent.expect<wire::Spawn>();
    agent.send_bytes(std::string(64, '\xff'));
    agent.until_gone();
  });
  expect_lost(run(), "the link to its agent ended");
}

TEST_F(BadAgents, NoiseBeforeHello) {
  hosts.script([](Script& agent) {
    agent.send_bytes("Welcome to this host!\nLast login: never\n");
    agent.until_gone();
  });
  expect_lost(run(), "the link to its agent ended");
}

TEST_F(BadAgents, AnotherVersion) {
  hosts.script([](Script& agent) {
    agent.hello(wire::kVersion + 1);
    agent.until_gone();
  });
  expect_lost(run(), "version");
}

TEST_F(BadAgents, ARankThatIsAnotherHosts) {
  hosts.script([](Script& agent) {
    agent.hello();
    agent.expect<wire::Spawn>();
    agent.started(1);
    agent.until_gone();
  });
  hosts.script([](Script& agent) {
    agent.hello();
    agent.expect<wire::Spawn>();
    agent.started(1);
    agent.expect<wire::Signal>();
    agent.ended(1, SIGTERM);
    agent.finish();
  });
  const auto outcome = run();
  expect_lost(outcome, "not its own");
  EXPECT_TRUE(outcome.ranks[1].ended_by_us);
}

TEST_F(BadAgents, ARankThatIsNobodys) {
  hosts.script([](Script& agent) {
    agent.hello();
    agent.send(wire::Ended{4000000000u, 0, false, 1});
    agent.until_gone();
  });
  expect_lost(run(), "not its own");
}

TEST_F(BadAgents, AnEventOfARankThatIsNotItsOwn) {
  hosts.script([](Script& agent) {
    agent.hello();
    agent.expect<wire::Spawn>();
    agent.started(0);
    agent.send(wire::PmixProgramAsk{"none"});
    agent.send(wire::PmixEvent{-1, "nobody", 0, 0, {}});
    agent.until_gone();
  });
  expect_lost(run_mpi(), "not its own");
}

struct Order {
  std::string name;
  std::function<void(Script&)> frames;  ///< after Spawn of rank 0
};

std::string order_name(const testing::TestParamInfo<Order>& order) { return order.param.name; }

void PrintTo(const Order& order, std::ostream* out) { *out << order.name; }

class WrongOrder : public BadAgents, public testing::WithParamInterface<Order> {};

TEST_P(WrongOrder, LosesTheHostAndNeverHangs) {
  hosts.script([](Script& agent) {
    agent.hello();
    agent.expect<wire::Spawn>();
    GetParam().frames(agent);
    agent.until_gone();
  });
  expect_lost(run_mpi(), "out of order");
}

INSTANTIATE_TEST_SUITE_P(
    Frames, WrongOrder,
    testing::Values(Order{"EndedBeforeStarted", [](Script& agent) { agent.send(wire::Ended{0, 0, false, 1}); }},
                    Order{"OutputBeforeStarted", [](Script& agent) { agent.send(wire::OutputData{0, 1, 1, "x"}); }},
                    Order{"StartedTwice",
                          [](Script& agent) {
                            agent.started(0);
                            agent.started(0);
                          }},
                    Order{"EndedTwice",
                          [](Script& agent) {
                            agent.started(0);
                            agent.send(wire::Ended{0, 0, false, 1});
                            agent.send(wire::Ended{0, 0, false, 1});
                          }},
                    Order{"NotStartedAfterEnded",
                          [](Script& agent) {
                            agent.started(0);
                            agent.send(wire::Ended{0, 0, false, 1});
                            agent.send(wire::SpawnFailed{0, 2, "what", 1});
                          }},
                    Order{"AbortedBeforeStarted", [](Script& agent) { agent.send(wire::MpiAbort{0, 1, 1}); }},
                    Order{"NameAskedBeforeStarted", [](Script& agent) { agent.send(wire::NameAsk{0, 1, "s", ""}); }},
                    Order{"FenceAfterAllEnded",
                          [](Script& agent) {
                            agent.started(0);
                            agent.send(wire::Ended{0, 0, false, 1});
                            agent.send(wire::FenceIn{});
                          }},
                    Order{"PmixBeforeItIsThere", [](Script& agent) { agent.send(wire::PmixWant{1, "space", 0}); }},
                    Order{"ASpawnOfPmixBeforeItIsThere",
                          [](Script& agent) {
                            agent.started(0);
                            wire::SpawnAsk ask;
                            ask.pmix = true;
                            wire::add(ask, {.argv = {"child"}});
                            agent.send(ask);
                          }},
                    Order{"TwoQuestionsForDlaunchPmix",
                          [](Script& agent) {
                            agent.send(wire::PmixProgramAsk{"none"});
                            agent.send(wire::PmixProgramAsk{"none"});
                          }},
                    Order{"StdinClosedBeforeStarted", [](Script& agent) { agent.send(wire::StdinClosed{0}); }},
                    Order{"CreditOfAnOutput",
                          [](Script& agent) {
                            agent.started(0);
                            agent.send(wire::Credit{0, 1, 1});
                          }},
                    Order{"CleanBeforeFinish", [](Script& agent) { agent.send(wire::Clean{}); }}),
    order_name);

/// dlaunch-pmix tells in its own time.
TEST_F(BadAgents, WhatARankAskedMayComeAfterItsEnd) {
  hosts.script([](Script& agent) {
    agent.hello();
    agent.expect<wire::Spawn>();
    agent.expect<wire::Spawn>();
    agent.started(0);
    agent.started(1);
    agent.ended(0);
    agent.send(wire::MpiAbort{0, 7, 1});
    agent.send(wire::NameAsk{0, 1, "s", ""});
    wire::SpawnAsk late;
    wire::add(late, {.argv = {"child"}});
    agent.send(late);
    EXPECT_FALSE(agent.expect<wire::SpawnAnswer>().ok);
    agent.ended(1);
    agent.finish();
  });
  const job::Outcome outcome = run_mpi(2);
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.ranks.size(), 2u);
}

TEST_F(BadAgents, AFenceBeforeAnyRankWasAskedFor) {
  hosts.script([](Script& agent) {
    agent.hello();
    agent.send(wire::FenceIn{});
    agent.until_gone();
  });
  hosts.script([](Script& agent) { agent.until_gone(); });
  expect_lost(run_mpi(), "out of order");
}

wire::SpawnAsk spawn_onto(std::string host, bool pmix) {
  wire::SpawnAsk ask;
  ask.pmix = pmix;
  wire::add(ask, {.argv = {"evil"}, .hosts = {std::move(host)}});
  return ask;
}

/// What is asked for where no MPI is served: by `evil`, after its rank has started. Nothing is started on the other
/// host.
struct Unserved {
  std::string name;
  plan::Mpi mpi;
  std::function<void(Script&)> frames;
};

void PrintTo(const Unserved& unserved, std::ostream* out) { *out << unserved.name; }

class NoMpi : public BadAgents, public testing::WithParamInterface<Unserved> {};

TEST_P(NoMpi, LosesTheHostAndStartsNothing) {
  hosts.script([](Script& agent) {
    agent.hello();
    agent.expect<wire::Spawn>();
    agent.started(0);
    GetParam().frames(agent);
    agent.until_gone();
  });
  hosts.script([](Script& agent) {
    agent.hello();
    EXPECT_EQ(agent.expect<wire::Spawn>().rank, 1u);
    agent.started(1);
    for (;;) {
      const wire::Message message = agent.next();
      EXPECT_FALSE(std::holds_alternative<wire::Program>(message) || std::holds_alternative<wire::Spawn>(message));
      if (std::holds_alternative<wire::Signal>(message)) break;
    }
    agent.ended(1, SIGTERM);
    agent.finish();
  });
  const auto outcome = run({"true"}, 1, [](plan::Plan& plan) { plan.mpi = GetParam().mpi; });
  expect_lost(outcome, "which is not served");
  EXPECT_EQ(outcome.ranks.size(), 2u);
}

INSTANTIATE_TEST_SUITE_P(
    Frames, NoMpi,
    testing::Values(
        Unserved{"Spawn", plan::Mpi::none, [](Script& agent) { agent.send(spawn_onto("n1", false)); }},
        Unserved{"SpawnByPmix", plan::Mpi::none, [](Script& agent) { agent.send(spawn_onto("n1", true)); }},
        Unserved{"SpawnByPmixUnderPmi", plan::Mpi::pmi1, [](Script& agent) { agent.send(spawn_onto("n1", true)); }},
        Unserved{"SpawnByPmiUnderPmix", plan::Mpi::pmix, [](Script& agent) { agent.send(spawn_onto("n1", false)); }},
        Unserved{"Abort", plan::Mpi::none, [](Script& agent) { agent.send(wire::MpiAbort{0, 1, 1}); }},
        Unserved{"Name", plan::Mpi::none, [](Script& agent) { agent.send(wire::NameAsk{0, 0, "s", "p"}); }},
        Unserved{"Fence", plan::Mpi::none, [](Script& agent) { agent.send(wire::FenceIn{}); }},
        Unserved{"Program", plan::Mpi::pmi1, [](Script& agent) { agent.send(wire::PmixProgramAsk{"x86_64"}); }},
        Unserved{"Collective", plan::Mpi::none, [](Script& agent) { agent.send(wire::PmixCollect{0, "s:*", ""}); }},
        Unserved{"Modex", plan::Mpi::none, [](Script& agent) { agent.send(wire::PmixModex{}); }},
        Unserved{"Names", plan::Mpi::none, [](Script& agent) { agent.send(wire::PmixNames{}); }},
        Unserved{"Event", plan::Mpi::none, [](Script& agent) { agent.send(wire::PmixEvent{}); }},
        Unserved{"Failure", plan::Mpi::none, [](Script& agent) { agent.send(wire::PmixFailed{"no", ""}); }}),
    [](const testing::TestParamInfo<Unserved>& unserved) { return unserved.param.name; });

TEST_F(BadAgents, StartedBeforeItWasAsked) {
  hosts.script([](Script& agent) {
    agent.started(0);
    agent.until_gone();
  });
  expect_lost(run(), "out of order");
}

TEST_F(BadAgents, CleanInsteadOfHello) {
  hosts.script([](Script& agent) {
    agent.send(wire::Clean{});
    agent.until_gone();
  });
  expect_lost(run(), "out of order");
}

TEST_F(BadAgents, AFenceWithAKeyThatHasNoValue) {
  hosts.script([](Script& agent) {
    agent.hello();
    agent.expect<wire::Spawn>();
    agent.started(0);
    agent.send(wire::FenceIn{1, {"key"}, {}});
    agent.until_gone();
  });
  expect_lost(run_mpi(), "a key without a value");
}

TEST_F(BadAgents, AQuestionForANameThatNoRankCanAsk) {
  hosts.script([](Script& agent) {
    agent.hello();
    agent.expect<wire::Spawn>();
    agent.started(0);
    agent.send(wire::NameAsk{0, 3, "s", ""});
    agent.until_gone();
  });
  expect_lost(run_mpi(), "what no rank can ask");
}

TEST_F(BadAgents, AStreamThatNeverWas) {
  hosts.script([](Script& agent) {
    agent.hello();
    agent.expect<wire::Spawn>();
    agent.started(0);
    agent.send(wire::OutputData{0, 3, 1, "x"});
    agent.until_gone();
  });
  expect_lost(run(), "a stream that no rank has");
}

TEST_F(BadAgents, DescriptorsThatDidNotCome) {
  hosts.script([](Script& agent) {
    agent.hello();
    agent.expect<wire::Spawn>();
    agent.send(wire::Started{0, 1, 1, 3, {}});
    agent.until_gone();
  });
  expect_lost(run(), "announces descriptors, which it cannot pass");
}

TEST_F(BadAgents, OutputAfterTheStreamsEndIsDropped) {
  hosts.script([](Script& agent) {
    agent.hello();
    agent.expect<wire::Spawn>();
    agent.started(0);
    agent.send(wire::OutputData{0, 1, 15, "in time\n"});
    agent.ended(0);
    agent.send(wire::OutputData{0, 1, 25, "late\n"});
    agent.send(wire::OutputData{0, 1, 25, {}});
    agent.send(wire::StdinClosed{0});
    agent.send(wire::Credit{0, 0, 5});
    agent.finish();
  });
  EXPECT_EQ(run().exit_code, 0);
  EXPECT_EQ(out.text(), "in time\n");
}

TEST_F(BadAgents, OutputAfterEndedIsTheRanks) {
  hosts.script([](Script& agent) {
    agent.hello();
    agent.expect<wire::Spawn>();
    agent.started(0);
    agent.send(wire::Ended{0, 0, false, 20});
    agent.send(wire::OutputData{0, 1, 15, "still in its pipe\n"});
    agent.send(wire::OutputData{0, 1, 25, {}});
    agent.send(wire::OutputData{0, 2, 25, {}});
    agent.finish();
  });
  EXPECT_EQ(run().exit_code, 0);
  EXPECT_EQ(out.text(), "still in its pipe\n");
}

TEST_F(BadAgents, SilenceFromTheBeginning) {
  settings.heartbeat = 50ms;
  hosts.script([](Script& agent) { agent.until_gone(); });
  expect_lost(run(), "fell silent");
}

TEST_F(BadAgents, SilenceWhileItShouldConfirm) {
  settings.heartbeat = 50ms;
  hosts.script([](Script& agent) {
    agent.hello();
    agent.expect<wire::Spawn>();
    agent.started(0);
    agent.ended(0);
    agent.until_gone();
  });
  const auto outcome = run();
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.leftovers, IsEmpty());
  EXPECT_THAT(outcome.swept, ElementsAre(0));
}

TEST_F(BadAgents, NeverConfirmsAndTheUserHasHadEnough) {
  hosts.script([](Script& agent) {
    agent.hello();
    agent.expect<wire::Spawn>();
    agent.started(0);
    agent.ended(0);
    agent.expect<wire::Finish>();
    agent.until_gone();
  });
  after(300, [] { ::kill(::getpid(), SIGINT); });  // end what is left now
  after(400, [] { ::kill(::getpid(), SIGINT); });  // and do not wait for it
  const auto outcome = run();
  EXPECT_THAT(outcome.leftovers, ElementsAre("n0: did not confirm in time that nothing is left"));
}

TEST_F(BadAgents, AHostThatCannotBeReachedStartsNothingAnywhere) {
  hosts.unreachable();
  hosts.script([](Script& agent) {
    agent.hello();
    agent.finish();
  });
  expect_lost(run(), "no route");
}

TEST_F(BadAgents, OneOfTwoLostEndsTheOther) {
  hosts.script([](Script& agent) {
    agent.hello();
    agent.expect<wire::Spawn>();
    agent.started(0);
  });
  hosts.script([](Script& agent) {
    agent.hello();
    agent.expect<wire::Spawn>();
    agent.started(1);
    EXPECT_EQ(agent.expect<wire::Signal>().signal, static_cast<std::uint32_t>(SIGTERM));
    agent.ended(1, SIGTERM);
    agent.finish();
  });
  const auto outcome = run();
  expect_lost(outcome, "the link");
  EXPECT_TRUE(std::holds_alternative<Signaled>(outcome.ranks[1].status->value()));
}

}  // namespace
}  // namespace dlaunch::launcher
