// Queries of hosts before the plan. The agents are scripts.
#include "launcher/host_query.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>

#include "launcher/frames.h"
#include "launcher_fixture.h"
#include "session/components.h"
#include "sys/clock.h"

namespace dlaunch::launcher {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

wire::HostInfo facts_of(std::uint32_t cpus) {
  wire::HostInfo facts;
  facts.time_ns = sys::wall_ns();
  facts.cpus = cpus;
  facts.cpus_from = "affinity mask";
  return facts;
}

class HostInspectorTest : public testing::Test {
 protected:
  HostInspectorTest() { std::signal(SIGPIPE, SIG_IGN); }
  ~HostInspectorTest() override {
    links.close();
    hosts.close();
  }

  /// Answers each query with that many CPUs, until the link ends.
  void answers(std::uint32_t cpus, std::int64_t ahead_ns = 0) {
    hosts.script([=](ScriptedAgent& agent) {
      agent.hello();
      for (;;) {
        const auto asked = agent.expect<wire::QueryHost>();
        wire::HostInfo facts = facts_of(cpus);
        facts.time_ns += ahead_ns;
        facts.addresses = asked.names;
        agent.send(facts);
      }
    });
  }

  HostQuery::Result query(const HostQuery::Question& question) {
    std::vector<plan::Host> all(hosts.count());
    for (size_t i = 0; i < all.size(); ++i) all[i].name = "n" + std::to_string(i);
    return HostQuery(io, links, question).run(all);
  }

  static std::optional<wire::QueryHost> ask(int) { return wire::QueryHost{}; }

  asio::io_context io{1};
  FakeHosts hosts;
  JobOptions settings;
  spdlog::logger log{"silent"};
  Hosts links{io, hosts, "job", settings, log};
};

TEST_F(HostInspectorTest, ReturnsTheFactsOfEachHost) {
  answers(4);
  answers(8);
  const auto found = query(ask);
  EXPECT_EQ(found.signal, 0);
  ASSERT_TRUE(found.hosts[0].facts && found.hosts[1].facts);
  EXPECT_EQ(found.hosts[0].facts->cpus, 4u);
  EXPECT_EQ(found.hosts[1].facts->cpus, 8u);
  EXPECT_EQ(found.hosts[0].hello->host, "scripted");
}

TEST_F(HostInspectorTest, ConnectsToAHostWithoutAQuery) {
  answers(4);
  hosts.script([](ScriptedAgent& agent) {
    agent.hello();
    EXPECT_THROW(agent.expect<wire::QueryHost>(), ScriptedAgent::Gone);
  });
  const auto found = query([](int host) { return host == 0 ? ask(host) : std::nullopt; });
  EXPECT_TRUE(found.hosts[0].facts);
  EXPECT_FALSE(found.hosts[1].facts);
  EXPECT_TRUE(found.hosts[1].hello);
  EXPECT_FALSE(found.hosts[1].loss);
}

TEST_F(HostInspectorTest, ReportsAllLostHosts) {
  hosts.unreachable();
  answers(4);
  hosts.script([](ScriptedAgent& agent) {
    agent.hello();
    agent.expect<wire::QueryHost>();
  });
  const auto found = query(ask);
  ASSERT_TRUE(found.hosts[0].loss && found.hosts[2].loss);
  EXPECT_EQ(found.hosts[0].loss->why, "cannot be reached: no route");
  EXPECT_TRUE(found.hosts[1].facts);
  EXPECT_FALSE(found.hosts[1].loss);
}

TEST_F(HostInspectorTest, QueriesNamesAfterTheClock) {
  hosts.script([](ScriptedAgent& agent) {
    agent.hello();
    EXPECT_THAT(agent.expect<wire::QueryHost>().names, testing::IsEmpty());
    wire::HostInfo facts = facts_of(2);
    facts.time_ns += 5'000'000'000;
    agent.send(facts);
    EXPECT_THAT(agent.expect<wire::QueryHost>().names, ElementsAre("a"));
    ::usleep(300'000);  // the time of name resolution does not count for the clock
    facts.addresses = {"10.0.0.1"};
    agent.send(facts);
    agent.until_gone();
  });
  const auto found = query([](int) {
    wire::QueryHost question;
    question.names = {"a"};
    return std::optional(question);
  });
  EXPECT_THAT(found.hosts[0].facts->addresses, ElementsAre("10.0.0.1"));
  EXPECT_NEAR(static_cast<double>(found.hosts[0].clock_offset_ns), 5e9, 0.2e9);
  EXPECT_LT(found.hosts[0].clock_error_ns, 250'000'000);
}

TEST_F(HostInspectorTest, RunsCommandsAfterTheQueryAndAgainOnTheSameLinks) {
  hosts.script([](ScriptedAgent& agent) {
    agent.hello();
    agent.expect<wire::QueryHost>();
    agent.send(facts_of(6));
    for (const char* answer : {"first", "second"}) {
      EXPECT_THAT(agent.expect<wire::RunCommands>().commands, ElementsAre("tool\n6"));
      agent.send(wire::CommandResults{{answer}, {0}});
    }
    agent.until_gone();
  });
  std::vector<plan::Host> all(1);
  all[0].name = "n0";
  std::uint32_t cpus = 0;
  const auto run_commands = [&](int, const QueriedHost& known) {
    if (known.facts) cpus = known.facts->cpus;
    return std::optional(wire::RunCommands{"/bin", 1000, {"tool\n" + std::to_string(cpus)}});
  };
  const auto first = HostQuery(io, links, ask, {}, run_commands).run(all);
  ASSERT_TRUE(first.hosts[0].results);
  EXPECT_THAT(first.hosts[0].results->printed, ElementsAre("first"));
  const auto again = HostQuery(io, links, [](int) { return std::nullopt; }, {}, run_commands).run(all);
  ASSERT_TRUE(again.hosts[0].results);
  EXPECT_THAT(again.hosts[0].results->printed, ElementsAre("second"));
}

/// The first host's handler takes so long that the second host's answer, which ends the query, and the progress tick
/// are ready at the same time.
TEST_F(HostInspectorTest, TickDoesNotOutliveTheQuery) {
  answers(1);
  hosts.script([](ScriptedAgent& agent) {
    agent.hello();
    agent.expect<wire::QueryHost>();
    ::usleep(100'000);
    agent.send(facts_of(2));
    agent.until_gone();
  });
  std::vector<plan::Host> all(2);
  all[0].name = "n0";
  all[1].name = "n1";
  bool over = false;
  int late = 0;
  const auto look = [](int host, const QueriedHost&) -> std::optional<wire::RunCommands> {
    if (host == 0) ::usleep(500'000);
    return std::nullopt;
  };
  HostQuery query(io, links, ask, [&](const std::vector<std::string>&) { late += over ? 1 : 0; }, look);
  ASSERT_TRUE(query.run(all).hosts[1].facts);
  over = true;
  io.run_for(300ms);
  io.restart();
  EXPECT_EQ(late, 0);
}

TEST_F(HostInspectorTest, InterruptEndsTheQuery) {
  answers(1);
  hosts.script([](ScriptedAgent& agent) { agent.until_gone(); });
  asio::steady_timer timer(io, 300ms);
  timer.async_wait([](asio::error_code) { ::kill(::getpid(), SIGINT); });
  EXPECT_EQ(query(ask).signal, SIGINT);
}

TEST_F(HostInspectorTest, TheLauncherTakesOverTheLinks) {
  for (int host = 0; host < 3; ++host) {
    hosts.script([host](ScriptedAgent& agent) {
      agent.hello();
      agent.expect<wire::QueryHost>();
      agent.send(facts_of(1));
      if (host == 0) return agent.until_gone();  // the plan does not use this host
      const auto rank = agent.expect<wire::Spawn>().rank;
      EXPECT_EQ(rank, host == 2 ? 0u : 1u);
      agent.started(rank);
      agent.ended(rank);
      agent.finish();
    });
  }
  query(ask);
  links.keep({2, 1});
  plan::Plan plan;
  plan.job_id = "job";
  plan.apps.push_back({.argv = {"true"}, .env = {}, .wdir = "/", .ranks = 2});
  for (int rank = 0; rank < 2; ++rank) {
    plan.hosts.push_back({{}, {rank}});
    plan.hosts.back().host.name = "h" + std::to_string(rank);
    plan.ranks.push_back({rank, 0, rank, 0, {}, {}});
  }
  settings.stdin_target.kind = plan::StdinTarget::Kind::none;
  Console out, err;
  output::StandardStreams streams({out.fd(), err.fd()});
  const auto output = output::Output::open({}, rank_facts(plan), streams);
  ASSERT_TRUE(output);
  sys::ReservedPorts ports;
  Listener listener;
  link::Signals signals(io);
  plan::RoundPlan round_plan(plan);
  Launcher launcher(io,
                    {round_plan, settings, **output, links, ports, signals, listener, log, session::make_components});
  EXPECT_EQ(launcher.run().exit_code, 0);
}

}  // namespace
}  // namespace dlaunch::launcher
