// Agents that end, stop answering, or violate the protocol: one row per case, with the job's result.
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>

#include "launcher_fixture.h"
#include "wire/mpi.h"

namespace dlaunch::launcher {
namespace {

using namespace std::chrono_literals;
using job::Cause;
using plan::Mpi;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using Play = std::function<void(ScriptedAgent&)>;
using Must = std::function<void(const job::Outcome&, const std::string& printed)>;

struct Row {
  std::string name;
  std::vector<Play> agents;  ///< of the hosts n0, n1, …; an empty entry: unreachable host
  Must must;
  std::optional<Mpi> mpi = std::nullopt;
  int ranks = 1;  ///< per host
  std::optional<std::chrono::milliseconds> heartbeat = std::nullopt;
  std::optional<Play> again = std::nullopt;  ///< the agent of a second connection; empty: unreachable
  std::vector<int> interrupts = {};          ///< times of the user's Ctrl-C, in milliseconds from the start
};

void PrintTo(const Row& row, std::ostream* out) { *out << row.name; }

// ---- actions of agents ----

/// The point up to which an agent follows the protocol.
enum class Until { nothing, hello, spawn, started };

template <class Act>
void perform(ScriptedAgent& agent, const Act& act) {
  if constexpr (std::is_invocable_v<const Act&, ScriptedAgent&>) {
    act(agent);
  } else {
    agent.send(act);
  }
}

/// Follows the protocol until `until`, then performs the acts and closes the link.
template <class... Acts>
Play leaves(Until until, Acts... acts) {
  return [=](ScriptedAgent& agent) {
    if (until >= Until::hello) agent.hello();
    if (until >= Until::spawn) agent.expect<wire::Spawn>();
    if (until >= Until::started) agent.started(0);
    (perform(agent, acts), ...);
  };
}

/// Like leaves(), but keeps the link open until the launcher closes the link.
template <class... Acts>
Play stays(Until until, Acts... acts) {
  return leaves(until, acts..., [](ScriptedAgent& agent) { agent.until_gone(); });
}

template <class Message>
void expects(ScriptedAgent& agent) {
  agent.expect<Message>();
}
void finishes(ScriptedAgent& agent) { agent.finish(); }
Play starts(std::uint32_t rank) {
  return [=](ScriptedAgent& agent) { agent.started(rank); };
}
Play ends(std::uint32_t rank) {
  return [=](ScriptedAgent& agent) { agent.ended(rank); };
}
Play sends_bytes(const std::string& bytes) {
  return [=](ScriptedAgent& agent) { agent.send_bytes(bytes); };
}

/// For n1: expects only the start of its rank, and its end because of n0.
void is_ended(ScriptedAgent& agent) {
  agent.hello();
  EXPECT_EQ(agent.expect<wire::Spawn>().rank, 1u);
  agent.started(1);
  for (;;) {
    const wire::Message message = agent.next();
    EXPECT_FALSE(std::holds_alternative<wire::Program>(message) || std::holds_alternative<wire::Spawn>(message));
    const auto* signal = std::get_if<wire::Signal>(&message);
    if (!signal) continue;
    EXPECT_EQ(signal->signal, static_cast<std::uint32_t>(SIGTERM));
    break;
  }
  agent.ended(1, SIGTERM);
  agent.finish();
}

wire::SpawnAsk spawn_ask(const std::string& word, bool pmix, std::vector<std::string> on = {}) {
  wire::SpawnAsk ask;
  ask.pmix = pmix;
  wire::add(ask, {.argv = {word}, .hosts = std::move(on)});
  return ask;
}

// ---- results of the job ----

void nothing_else(const job::Outcome&, const std::string&) {}

/// The host is lost, and the user sees the reason.
Must loses_n0(const std::string& why, const Must& also = nothing_else) {
  return [=](const job::Outcome& outcome, const std::string& printed) {
    EXPECT_EQ(outcome.cause, Cause::host_lost);
    EXPECT_EQ(outcome.exit_code, 125);
    EXPECT_THAT(outcome.detail, HasSubstr("n0"));
    EXPECT_THAT(outcome.detail, HasSubstr(why));
    also(outcome, printed);
  };
}

Must exits_with(int code, const Must& also = nothing_else) {
  return [=](const job::Outcome& outcome, const std::string& printed) {
    EXPECT_EQ(outcome.exit_code, code);
    also(outcome, printed);
  };
}

Must prints(const std::string& text) {
  return [=](const job::Outcome&, const std::string& printed) { EXPECT_EQ(printed, text); };
}

/// Another agent ends the remaining processes there.
void sweeps_n0(const job::Outcome& outcome, const std::string&) {
  EXPECT_THAT(outcome.leftovers, IsEmpty());
  EXPECT_THAT(outcome.swept, ElementsAre(0));
}

// ---- the rows ----

const wire::Ended kEnded{0, 0, false, 1};

std::vector<Row> links_that_end() {
  return {
      {"AGoodScriptMakesAGoodJob",
       {leaves(Until::started, wire::OutputData{0, 1, 15, "said\n"}, ends(0), finishes)},
       [](const job::Outcome& outcome, const std::string& printed) {
         EXPECT_EQ(outcome.cause, Cause::success);
         EXPECT_EQ(outcome.exit_code, 0);
         EXPECT_THAT(outcome.leftovers, IsEmpty());
         EXPECT_EQ(outcome.ranks[0].pid, 1000);
         EXPECT_EQ(printed, "said\n");
       }},
      {"TheLinkEndsBeforeHello",
       {leaves(Until::nothing, expects<wire::Setup>)},
       loses_n0("lost the connection to the agent")},
      {"TheLinkEndsAfterStarted",
       {leaves(Until::started, wire::OutputData{0, 1, 15, "half a li"})},
       loses_n0("lost the connection to the agent",
                [](const job::Outcome& outcome, const std::string& printed) {
                  ASSERT_TRUE(outcome.ranks[0].status);
                  EXPECT_TRUE(std::holds_alternative<Lost>(outcome.ranks[0].status->value()));
                  EXPECT_THAT(printed, HasSubstr("half a li"));
                })},
      {"TheLinkEndsWhileItConfirms",
       {leaves(Until::started, ends(0), expects<wire::Finish>)},
       exits_with(0, sweeps_n0)},
      {.name = "TheLinkEndsAndTheHostIsNotReachedAgain",
       .agents = {leaves(Until::started)},
       .must = exits_with(125,
                          [](const job::Outcome& outcome, const std::string&) {
                            EXPECT_THAT(outcome.leftovers, ElementsAre(HasSubstr("cannot connect again")));
                            EXPECT_EQ(outcome.unswept.size(), 1u);
                          }),
       .again = Play()},
      {.name = "TheNextOneFindsWhatDoesNotGo",
       .agents = {leaves(Until::started)},
       .must = exits_with(125,
                          [](const job::Outcome& outcome, const std::string&) {
                            EXPECT_THAT(outcome.leftovers, ElementsAre(HasSubstr("pid 7 (x), state D")));
                            EXPECT_THAT(outcome.unswept, IsEmpty());
                          }),
       .again = stays(Until::hello, expects<wire::Sweep>, wire::Clean{{"pid 7 (x), state D"}})},
      {"OneOfTwoLostEndsTheOther",
       {leaves(Until::started), is_ended},
       loses_n0("lost the connection",
                [](const job::Outcome& outcome, const std::string&) {
                  EXPECT_TRUE(std::holds_alternative<Signaled>(outcome.ranks[1].status->value()));
                })},
      {"AHostThatCannotBeReachedStartsNothingAnywhere", {Play(), leaves(Until::hello, finishes)}, loses_n0("no route")},
  };
}

std::vector<Row> silence() {
  return {
      {.name = "SilenceFromTheBeginning",
       .agents = {stays(Until::nothing)},
       .must = loses_n0("stopped sending heartbeats"),
       .heartbeat = 50ms},
      {.name = "SilenceWhileItShouldConfirm",
       .agents = {stays(Until::started, ends(0))},
       .must = exits_with(0, sweeps_n0),
       .heartbeat = 50ms},
      // The first interrupt ends the remaining processes now. The second interrupt does not wait for them.
      {.name = "NeverConfirmsAndTheUserHasHadEnough",
       .agents = {stays(Until::started, ends(0), expects<wire::Finish>)},
       .must =
           [](const job::Outcome& outcome, const std::string&) {
             EXPECT_THAT(outcome.leftovers,
                         ElementsAre("n0: the agent did not confirm in time that all processes ended"));
           },
       .interrupts = {300, 400}},
  };
}

std::vector<Row> nonsense() {
  const auto ended_by_us = [](const job::Outcome& outcome, const std::string&) {
    EXPECT_TRUE(outcome.ranks[1].ended_by_us);
  };
  return {
      {"Garbage",
       {stays(Until::spawn, sends_bytes(std::string(64, '\xff')))},
       loses_n0("lost the connection to the agent")},
      {"NoiseBeforeHello",
       {stays(Until::nothing, sends_bytes("Welcome to this host!\nLast login: never\n"))},
       loses_n0("lost the connection to the agent")},
      {"AnotherVersion",
       {stays(Until::nothing, [](ScriptedAgent& agent) { agent.hello(wire::kVersion + 1); })},
       loses_n0("version")},
      {"ARankThatIsAnotherHosts",
       {stays(Until::spawn, starts(1)), is_ended},
       loses_n0("a rank of another host", ended_by_us)},
      {"ARankThatIsNobodys",
       {stays(Until::hello, wire::Ended{4000000000u, 0, false, 1})},
       loses_n0("a rank of another host")},
      {"ASignalThatARankOfNobodyDoesNotCatch",
       {stays(Until::hello, wire::Uncaught{10, {4000000000u}})},
       loses_n0("a rank of another host")},
      {"AnEventOfARankThatIsNotItsOwn",
       {stays(Until::started, wire::PmixProgramAsk{"none"}, wire::PmixEvent{-1, "nobody", 0, 0, {}})},
       loses_n0("a rank of another host"),
       Mpi::automatic},
      {"AFenceWithAKeyThatHasNoValue",
       {stays(Until::started, wire::FenceIn{1, {"key"}, {}})},
       loses_n0("a key without a value"),
       Mpi::automatic},
      {"AQuestionForANameThatNoRankCanAsk",
       {stays(Until::started, wire::NameAsk{0, 3, "s", ""})},
       loses_n0("invalid request"),
       Mpi::automatic},
      {"AStreamThatNeverWas", {stays(Until::started, wire::OutputData{0, 3, 1, "x"})}, loses_n0("unknown stream")},
      {"DescriptorsThatDidNotCome",
       {stays(Until::spawn, wire::Started{0, 1, 1, 3, {}})},
       loses_n0("unexpected descriptors")},
  };
}

/// Late messages: output after the end of its stream is dropped; output after the end of the rank is kept.
std::vector<Row> lateness() {
  return {
      {"OutputAfterTheStreamsEndIsDropped",
       {leaves(Until::started, wire::OutputData{0, 1, 15, "in time\n"}, ends(0), wire::OutputData{0, 1, 25, "late\n"},
               wire::OutputData{0, 1, 25, {}}, wire::StdinClosed{0}, wire::Credit{0, 0, 5}, finishes)},
       exits_with(0, prints("in time\n"))},
      {"OutputAfterEndedIsTheRanks",
       {leaves(Until::started, wire::Ended{0, 0, false, 20}, wire::OutputData{0, 1, 15, "still in its pipe\n"},
               wire::OutputData{0, 1, 25, {}}, wire::OutputData{0, 2, 25, {}}, finishes)},
       exits_with(0, prints("still in its pipe\n"))},
      // dlaunch-pmix forwards requests with a delay.
      {"WhatARankAskedMayComeAfterItsEnd",
       {leaves(
           Until::spawn, expects<wire::Spawn>, starts(0), starts(1), ends(0), wire::MpiAbort{0, 7, 1},
           wire::NameAsk{0, 1, "s", ""}, spawn_ask("child", false),
           [](ScriptedAgent& agent) { EXPECT_FALSE(agent.expect<wire::SpawnAnswer>().ok); }, ends(1), finishes)},
       exits_with(0, [](const job::Outcome& outcome, const std::string&) { EXPECT_EQ(outcome.ranks.size(), 2u); }),
       Mpi::automatic,
       2},
  };
}

template <class... Acts>
Row wrong_order(std::string name, Until until, Acts... acts) {
  return {std::move(name), {stays(until, acts...)}, loses_n0("unexpected message"), Mpi::automatic};
}

std::vector<Row> wrong_orders() {
  return {
      {"StartedBeforeItWasAsked", {stays(Until::nothing, starts(0))}, loses_n0("unexpected message")},
      {"CleanInsteadOfHello", {stays(Until::nothing, wire::Clean{})}, loses_n0("unexpected message")},
      {"AFenceBeforeAnyRankWasAskedFor",
       {stays(Until::hello, wire::FenceIn{}), stays(Until::nothing)},
       loses_n0("unexpected message"),
       Mpi::automatic},
      wrong_order("EndedBeforeStarted", Until::spawn, kEnded),
      wrong_order("OutputBeforeStarted", Until::spawn, wire::OutputData{0, 1, 1, "x"}),
      wrong_order("StartedTwice", Until::started, starts(0)),
      wrong_order("EndedTwice", Until::started, kEnded, kEnded),
      wrong_order("NotStartedAfterEnded", Until::started, kEnded, wire::SpawnFailed{0, 2, "what", 1}),
      wrong_order("AbortedBeforeStarted", Until::spawn, wire::MpiAbort{0, 1, 1}),
      wrong_order("NameAskedBeforeStarted", Until::spawn, wire::NameAsk{0, 1, "s", ""}),
      wrong_order("FenceAfterAllEnded", Until::started, kEnded, wire::FenceIn{}),
      wrong_order("PmixBeforeItIsThere", Until::spawn, wire::PmixWant{1, "space", 0}),
      wrong_order("ASpawnOfPmixBeforeItIsThere", Until::started, spawn_ask("child", true)),
      wrong_order("TwoQuestionsForDlaunchPmix", Until::spawn, wire::PmixProgramAsk{"none"},
                  wire::PmixProgramAsk{"none"}),
      wrong_order("StdinClosedBeforeStarted", Until::spawn, wire::StdinClosed{0}),
      wrong_order("CreditOfAnOutput", Until::started, wire::Credit{0, 1, 1}),
      wrong_order("CleanBeforeFinish", Until::spawn, wire::Clean{}),
      {"ToldToEndByNoSuchSignal", {stays(Until::started, wire::TerminationNotice{0x80000009, 1})}, loses_n0("signal")},
  };
}

/// Requests MPI that the host does not serve: no rank is started on the other host.
template <class Message>
Row unserved(std::string name, Mpi mpi, Message message) {
  const auto no_more_ranks = [](const job::Outcome& outcome, const std::string&) {
    EXPECT_EQ(outcome.ranks.size(), 2u);
  };
  return {std::move(name),
          {stays(Until::started, message), is_ended},
          loses_n0("does not serve MPI on this host", no_more_ranks),
          mpi};
}

std::vector<Row> mpi_that_is_not_served() {
  return {
      unserved("Spawn", Mpi::none, spawn_ask("evil", false, {"n1"})),
      unserved("SpawnByPmix", Mpi::none, spawn_ask("evil", true, {"n1"})),
      unserved("SpawnByPmixUnderPmi", Mpi::pmi1, spawn_ask("evil", true, {"n1"})),
      unserved("SpawnByPmiUnderPmix", Mpi::pmix, spawn_ask("evil", false, {"n1"})),
      unserved("Abort", Mpi::none, wire::MpiAbort{0, 1, 1}),
      unserved("Name", Mpi::none, wire::NameAsk{0, 0, "s", "p"}),
      unserved("Fence", Mpi::none, wire::FenceIn{}),
      unserved("Program", Mpi::pmi1, wire::PmixProgramAsk{"x86_64"}),
      unserved("Collective", Mpi::none, wire::PmixCollect{0, "s:*", ""}),
      unserved("Modex", Mpi::none, wire::PmixModex{}),
      unserved("Names", Mpi::none, wire::PmixNames{}),
      unserved("Event", Mpi::none, wire::PmixEvent{}),
      unserved("Failure", Mpi::none, wire::PmixFailed{"no", ""}),
  };
}

class BadAgents : public LauncherFixture, public testing::WithParamInterface<Row> {};

TEST_P(BadAgents, DoNotHangOrMisleadTheLauncher) {
  const Row& row = GetParam();
  if (row.heartbeat) settings.heartbeat = *row.heartbeat;
  for (const Play& agent : row.agents) agent ? hosts.script(agent) : hosts.unreachable();
  if (row.again) *row.again ? hosts.script_again(*row.again) : hosts.unreachable_again();
  for (const int at : row.interrupts) after(at, [] { ::kill(::getpid(), SIGINT); });
  const auto outcome = run({"true"}, row.ranks, [&](plan::Plan& plan) {
    if (row.mpi) plan.mpi = *row.mpi;
  });
  row.must(outcome, out.text());
}

std::string name_of(const testing::TestParamInfo<Row>& row) { return row.param.name; }

INSTANTIATE_TEST_SUITE_P(Links, BadAgents, testing::ValuesIn(links_that_end()), name_of);
INSTANTIATE_TEST_SUITE_P(Silence, BadAgents, testing::ValuesIn(silence()), name_of);
INSTANTIATE_TEST_SUITE_P(Nonsense, BadAgents, testing::ValuesIn(nonsense()), name_of);
INSTANTIATE_TEST_SUITE_P(Late, BadAgents, testing::ValuesIn(lateness()), name_of);
INSTANTIATE_TEST_SUITE_P(WrongOrder, BadAgents, testing::ValuesIn(wrong_orders()), name_of);
INSTANTIATE_TEST_SUITE_P(NotServed, BadAgents, testing::ValuesIn(mpi_that_is_not_served()), name_of);

}  // namespace
}  // namespace dlaunch::launcher
