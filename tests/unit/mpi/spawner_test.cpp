// Ranks that agents request during a job.
#include "mpi/spawner.h"

#include <gmock/gmock.h>

#include <future>

#include "launcher_fixture.h"
#include "wire/mpi.h"

namespace dlaunch::launcher {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

wire::SpawnAsk ask() {
  wire::SpawnAsk made;
  made.rank = 1;
  made.ranks = {2, 0xffffffff};
  made.words = {2, 1};
  made.set = {0, 1};
  made.named = {1, 0};
  made.wdirs = {"", "/tmp"};
  made.argv = {"a", "b", "c"};
  made.env = {"A=1"};
  made.hosts = {"n1"};
  return made;
}

TEST(SpawnRequest, DecodesTheLists) {
  const auto request = mpi::spawn_request(ask());
  ASSERT_TRUE(request);
  EXPECT_EQ(request->asker, 1);
  ASSERT_EQ(request->apps.size(), 2u);
  EXPECT_THAT(request->apps[0].argv, ElementsAre("a", "b"));
  EXPECT_THAT(request->apps[0].hosts, ElementsAre("n1"));
  EXPECT_EQ(request->apps[0].ranks, 2);
  EXPECT_THAT(request->apps[1].argv, ElementsAre("c"));
  EXPECT_THAT(request->apps[1].env, ElementsAre("A=1"));
  EXPECT_EQ(request->apps[1].wdir, "/tmp");
  EXPECT_GT(request->apps[1].ranks, 1'000'000'000) << "a large number must not become negative";
}

TEST(SpawnRequest, RejectsInconsistentLists) {
  const auto broken = [](auto change) {
    wire::SpawnAsk made = ask();
    change(made);
    return !mpi::spawn_request(made);
  };
  EXPECT_TRUE(broken([](auto& a) { a.ranks.pop_back(); }));
  EXPECT_TRUE(broken([](auto& a) { a.wdirs.emplace_back(); }));
  EXPECT_TRUE(broken([](auto& a) { a.words[0] = 3; }));
  EXPECT_TRUE(broken([](auto& a) { a.words[1] = 0xffffffff; }));
  EXPECT_TRUE(broken([](auto& a) { a.argv.emplace_back("more"); }));
  EXPECT_TRUE(broken([](auto& a) { a.set[1] = 0; }));
  EXPECT_TRUE(broken([](auto& a) { a.named[1] = 1; }));
  EXPECT_TRUE(broken([](auto& a) { a.pairs = {"key"}; }));
}

class SpawnFixture : public LauncherFixture {
 protected:
  /// A job whose ranks may use MPI.
  job::Outcome run_mpi(int ranks = 1) {
    return run({"true"}, ranks, [](plan::Plan& plan) { plan.mpi = plan::Mpi::pmi1; });
  }
};

void begin(ScriptedAgent& agent) {
  agent.hello();
  agent.expect<wire::Spawn>();
  agent.started(0);
}

wire::SpawnAsk one(std::uint32_t rank, std::vector<std::string> hosts = {}) {
  wire::SpawnAsk made;
  made.rank = rank;
  wire::add(made, {.argv = {"child"}, .hosts = std::move(hosts)});
  made.pairs = {"k", "v"};
  return made;
}

TEST_F(SpawnFixture, StartsANewRankAndWaitsForItsEnd) {
  hosts.script([](ScriptedAgent& agent) {
    begin(agent);
    agent.send(one(0));
    const auto world = agent.expect<wire::MpiWorld>();
    EXPECT_EQ(world.world, 2u);
    EXPECT_EQ(world.first, 1u);
    EXPECT_EQ(world.first_app, 1u);
    EXPECT_TRUE(world.alone);
    EXPECT_THAT(world.pairs, ElementsAre("k", "v"));
    EXPECT_THAT(agent.expect<wire::Program>().argv, ElementsAre("child"));
    const auto spawn = agent.expect<wire::Spawn>();
    EXPECT_EQ(spawn.rank, 1u);
    EXPECT_EQ(spawn.local_rank, 1u);
    EXPECT_EQ(spawn.in, wire::StreamMode::null);
    const auto answer = agent.expect<wire::SpawnAnswer>();
    EXPECT_TRUE(answer.ok);
    EXPECT_EQ(answer.world, 2u);
    EXPECT_EQ(answer.space, world.space);
    agent.ended(0);
    agent.started(1);
    agent.send(wire::OutputData{1, 1, 1, "from the child\n"});
    agent.ended(1, 3 << 8);
    agent.finish();
  });
  const job::Outcome outcome = run_mpi();
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.first_failure, 1);
  EXPECT_EQ(out.text(), "from the child\n");
}

TEST_F(SpawnFixture, NewWorldKnowsItsParent) {
  hosts.script([](ScriptedAgent& agent) {
    agent.hello();
    const auto first = agent.expect<wire::MpiWorld>();
    EXPECT_EQ(first.parent, "");
    agent.started(0);
    std::string parent = first.space;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      agent.send(one(rank));
      const auto world = agent.expect<wire::MpiWorld>();
      EXPECT_EQ(world.parent, parent);
      EXPECT_NE(world.space, parent);
      parent = world.space;
      agent.started(rank + 1);
    }
    for (std::uint32_t rank = 0; rank < 3; ++rank) agent.ended(rank);
    agent.finish();
  });
  EXPECT_EQ(run_mpi().ranks.size(), 3u);
}

TEST_F(SpawnFixture, PmixGetsAWorldBeforeItsRanksStartAndBeforeTheAnswer) {
  hosts.script([](ScriptedAgent& agent) {
    begin(agent);
    agent.send(wire::PmixProgramAsk{"x86_64"});
    agent.expect<wire::PmixProgram>();
    const auto first = agent.expect<wire::PmixWorld>();
    EXPECT_EQ(first.parent, "");
    wire::SpawnAsk by_pmix = one(0);
    by_pmix.pmix = true;
    by_pmix.id = 7;
    agent.send(by_pmix);
    const auto second = agent.expect<wire::PmixWorld>();
    EXPECT_EQ(second.first, 1u);
    EXPECT_EQ(second.parent, first.space);
    EXPECT_EQ(second.parent_rank, 0u);
    EXPECT_THAT(second.placed, ElementsAre(0, 1));
    EXPECT_EQ(agent.expect<wire::Spawn>().rank, 1u);
    const auto answer = agent.expect<wire::PmixAnswer>();
    EXPECT_EQ(answer.id, 7u);
    EXPECT_EQ(answer.status, 0);
    EXPECT_EQ(answer.data, second.space);
    by_pmix.ranks = {1'000'000'000};
    agent.send(by_pmix);
    EXPECT_NE(agent.expect<wire::PmixAnswer>().status, 0);
    agent.ended(0);
    agent.started(1);
    agent.ended(1);
    agent.finish();
  });
  const job::Outcome outcome = run({"true"}, 1, [](plan::Plan& plan) { plan.mpi = plan::Mpi::pmix; });
  EXPECT_EQ(outcome.exit_code, 0);
}

/// Only the first host has ranks, `ranks` in number.
std::function<void(plan::Plan&)> others_spare(int ranks) {
  return [ranks](plan::Plan& plan) {
    plan.mpi = plan::Mpi::automatic;
    for (size_t host = 1; host < plan.hosts.size(); ++host) plan.spare.push_back(plan.hosts[host].host);
    plan.hosts.resize(1);
    plan.ranks.resize(static_cast<size_t>(ranks));
    plan.apps[0].ranks = ranks;
  };
}

TEST_F(SpawnFixture, ConnectsFirstToAHostWithoutRanks) {
  hosts.script([](ScriptedAgent& agent) {
    begin(agent);
    agent.send(wire::PmixProgramAsk{"x86_64"});
    EXPECT_THAT(agent.expect<wire::PmixWorld>().hosts, ElementsAre("n0"));
    agent.send(one(0, {"n1"}));
    const auto world = agent.expect<wire::PmixWorld>();
    EXPECT_THAT(world.hosts, ElementsAre("n1"));
    EXPECT_THAT(world.placed, ElementsAre(1, 1));
    EXPECT_TRUE(agent.expect<wire::SpawnAnswer>().ok);
    agent.ended(0);
    agent.finish();
  });
  hosts.script([](ScriptedAgent& agent) {
    agent.hello();
    EXPECT_EQ(agent.expect<wire::Layout>().local_ranks, 0u);
    EXPECT_EQ(agent.expect<wire::MpiWorld>().world, 2u);
    EXPECT_THAT(agent.expect<wire::Program>().argv, ElementsAre("child"));
    EXPECT_EQ(agent.expect<wire::Spawn>().rank, 1u);
    agent.started(1);
    agent.send(wire::PmixProgramAsk{"x86_64"});
    EXPECT_EQ(agent.expect<wire::PmixWorld>().first, 0u) << "the worlds before, too";
    EXPECT_EQ(agent.expect<wire::PmixWorld>().first, 1u);
    agent.ended(1, 4 << 8);
    agent.finish();
  });
  EXPECT_EQ(run({"true"}, 1, others_spare(1)).exit_code, 4);
}

TEST_F(SpawnFixture, UnreachableHostFailsTheSpawnNotTheJob) {
  hosts.script([](ScriptedAgent& agent) {
    begin(agent);
    agent.send(one(0, {"n1"}));
    EXPECT_FALSE(agent.expect<wire::SpawnAnswer>().ok);
    agent.send(one(0, {"n1"}));
    EXPECT_FALSE(agent.expect<wire::SpawnAnswer>().ok) << "nor is it tried again";
    agent.send(one(0));
    EXPECT_TRUE(agent.expect<wire::SpawnAnswer>().ok);
    agent.started(1);
    agent.ended(0);
    agent.ended(1);
    agent.finish();
  });
  hosts.unreachable();
  const job::Outcome outcome = run({"true"}, 1, others_spare(1));
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.lost_hosts, IsEmpty());
}

struct Breach {
  std::string name;
  wire::Message frame;
};
void PrintTo(const Breach& breach, std::ostream* out) { *out << breach.name; }

class ABreachOnAHostWithoutRanks : public SpawnFixture, public testing::WithParamInterface<Breach> {};

TEST_P(ABreachOnAHostWithoutRanks, FailsTheSpawnNotTheJob) {
  hosts.script([](ScriptedAgent& agent) {
    begin(agent);
    agent.send(one(0, {"n1"}));
    EXPECT_FALSE(agent.expect<wire::SpawnAnswer>().ok);
    agent.ended(0);
    agent.finish();
  });
  hosts.script([](ScriptedAgent& agent) {
    agent.send(GetParam().frame);
    agent.until_gone();
  });
  const job::Outcome outcome = run({"true"}, 1, others_spare(1));
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.lost_hosts, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Frames, ABreachOnAHostWithoutRanks,
                         testing::Values(Breach{"Fence", wire::FenceIn{}}, Breach{"Prepared", wire::Prepared{}},
                                         Breach{"PmixFailed", wire::PmixFailed{"no libpmix", ""}},
                                         Breach{"AnothersRank", wire::Ended{0, 0, false, 1}},
                                         Breach{"AnothersName", wire::PmixNames{0, 1, 0, {}, {}, false, false}}),
                         [](const auto& each) { return each.param.name; });

TEST_F(SpawnFixture, TwoSpawnsMayWaitForOneHost) {
  hosts.script([](ScriptedAgent& agent) {
    begin(agent);
    agent.send(one(0, {"n1"}));
    agent.send(one(0, {"n1"}));
    EXPECT_TRUE(agent.expect<wire::SpawnAnswer>().ok);
    EXPECT_TRUE(agent.expect<wire::SpawnAnswer>().ok);
    agent.ended(0);
    agent.finish();
  });
  hosts.script([](ScriptedAgent& agent) {
    agent.hello();
    for (std::uint32_t rank = 1; rank < 3; ++rank) {
      EXPECT_EQ(agent.expect<wire::Spawn>().rank, rank);
      agent.started(rank);
    }
    agent.ended(1);
    agent.ended(2);
    agent.finish();
  });
  EXPECT_EQ(run({"true"}, 1, others_spare(1)).ranks.size(), 3u);
}

TEST_F(SpawnFixture, IgnoresARequestOfAnEndedRank) {
  std::promise<void> ended, met;
  hosts.script([&](ScriptedAgent& agent) {
    begin(agent);
    agent.started(1);
    agent.send(one(0, {"n1"}));
    agent.ended(0);
    agent.send(wire::PmixProgramAsk{"x86_64"});
    agent.expect<wire::PmixProgram>();  // the end was received
    ended.set_value();
    met.get_future().wait();
    agent.ended(1);
    agent.finish();
  });
  hosts.script([&](ScriptedAgent& agent) {
    ended.get_future().wait();
    agent.hello();
    met.set_value();
    agent.finish();
  });
  EXPECT_EQ(run({"true"}, 2, others_spare(2)).ranks.size(), 2u);
}

TEST_F(SpawnFixture, AnswersAnImpossibleRequest) {
  hosts.script([](ScriptedAgent& agent) {
    begin(agent);
    wire::SpawnAsk many = one(0);
    many.ranks = {1'000'000'000};
    agent.send(many);
    EXPECT_FALSE(agent.expect<wire::SpawnAnswer>().ok);
    agent.ended(0);
    agent.finish();
  });
  const job::Outcome outcome = run_mpi();
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.ranks.size(), 1u);
}

TEST_F(SpawnFixture, EndingJobRejectsSpawns) {
  hosts.script([](ScriptedAgent& agent) {
    agent.hello();
    agent.expect<wire::Spawn>();
    agent.expect<wire::Spawn>();
    agent.started(0);
    agent.started(1);
    agent.ended(0, 1 << 8);
    agent.expect<wire::Signal>();
    agent.send(one(1));
    EXPECT_FALSE(agent.expect<wire::SpawnAnswer>().ok);
    agent.ended(1);
    agent.finish();
  });
  EXPECT_EQ(run_mpi(2).ranks.size(), 2u);
}

TEST_F(SpawnFixture, LosesAnAgentWithAnInvalidRequest) {
  hosts.script([](ScriptedAgent& agent) {
    begin(agent);
    wire::SpawnAsk bad = one(0);
    bad.words = {9};
    agent.send(bad);
    agent.until_gone();
  });
  const job::Outcome outcome = run_mpi();
  ASSERT_EQ(outcome.lost_hosts.size(), 1u);
  EXPECT_THAT(outcome.lost_hosts[0].why, HasSubstr("invalid request"));
}

}  // namespace
}  // namespace dlaunch::launcher
