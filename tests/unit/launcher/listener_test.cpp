// A listener that throws: handlers of a destroyed object are not called while the hosts live (AddressSanitizer checks).
#include <gmock/gmock.h>

#include <stdexcept>

#include "launcher/frames.h"
#include "launcher/host_query.h"
#include "launcher_fixture.h"
#include "session/components.h"

namespace dlaunch::launcher {
namespace {

using namespace std::chrono_literals;

struct Thrower : Listener {
  void all_started(const job::Outcome&) override { throw std::runtime_error("enough"); }
};

class AThrow : public testing::Test {
 protected:
  AThrow() { settings.policy.grace = 1s; }
  ~AThrow() override {
    links.close();
    hosts.close();
  }
  /// The hosts' agents continue to send messages.
  void go_on() {
    io.restart();
    io.run_for(300ms);
  }

  asio::io_context io{1};
  FakeHosts hosts;
  JobOptions settings;
  spdlog::logger log{"silent"};
  Hosts links{io, hosts, "job", settings, log};
};

class AThrowInAJob : public AThrow {
 protected:
  AThrowInAJob() {
    plan.job_id = "job";
    plan.apps.push_back({.argv = {"true"}, .env = {}, .wdir = "/", .ranks = 1});
    plan.hosts.push_back({{}, {0}});
    plan.ranks.push_back({0, 0, 0, 0, {}, {}});
  }
  plan::Plan plan;
};

TEST_F(AThrowInAJob, PropagatesAndEndsAllCalls) {
  hosts.script([](ScriptedAgent& agent) {
    agent.hello();
    agent.started(agent.expect<wire::Spawn>().rank);
    std::this_thread::sleep_for(100ms);
    agent.ended(0);
    agent.until_gone();
  });
  Console out, err;
  {
    output::StandardStreams streams({out.fd(), err.fd()});
    const auto output = output::Output::open({}, rank_facts(plan), streams);
    sys::ReservedPorts ports;
    Thrower thrower;
    link::Signals signals(io);
    plan::RoundPlan round_plan(plan);
    Launcher launcher(io,
                      {round_plan, settings, **output, links, ports, signals, thrower, log, session::make_components});
    EXPECT_THROW(launcher.run(), std::runtime_error);
  }
  go_on();
}

TEST_F(AThrow, PropagatesFromAQueryAndEndsAllCalls) {
  hosts.script([](ScriptedAgent& agent) {
    agent.hello();
    agent.expect<wire::QueryHost>();
    std::this_thread::sleep_for(400ms);
    agent.send(wire::HostInfo{});
    agent.until_gone();
  });
  {
    int calls = 0;
    HostQuery query(
        io, links, [](int) { return wire::QueryHost{}; },
        [&](const std::vector<std::string>&) {
          if (++calls == 2) throw std::runtime_error("enough");
        });
    EXPECT_THROW(query.run({plan::Host{}}), std::runtime_error);
  }
  go_on();
}

}  // namespace
}  // namespace dlaunch::launcher
