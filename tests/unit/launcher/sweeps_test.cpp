// The sweep of a lost host: repeated attempts, and their limits.
#include "launcher/sweeps.h"

#include <gmock/gmock.h>

#include <atomic>
#include <csignal>

#include "launcher_fixture.h"

namespace dlaunch::launcher {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

class SweepsTest : public testing::Test {
 protected:
  SweepsTest() { std::signal(SIGPIPE, SIG_IGN); }

  /// Sweeps the host, and returns the answer.
  job::HostSwept sweep() {
    Hosts links(io_, hosts_, "job", settings_, log_);
    hosts_.unreachable();
    links.open({{}});
    std::optional<job::HostSwept> result;
    {
      Sweeps sweeps(io_, links, settings_, [&](const job::Event& event) {
        if (!std::holds_alternative<job::HostSwept>(event)) return;
        result = std::get<job::HostSwept>(event);
        io_.stop();
      });
      sweeps.begin(0);
      io_.run_for(20s);
    }
    links.close();
    hosts_.close();
    return result.value_or(job::HostSwept{0, "no answer"});
  }

  FakeHosts hosts_;
  std::atomic<int> attempts_ = 0;

 private:
  asio::io_context io_{1};
  const JobOptions settings_;
  spdlog::logger log_{"silent"};
};

void clean(ScriptedAgent& agent) {
  agent.hello();
  agent.expect<wire::Sweep>();
  agent.send(wire::Clean{{"pid 7"}});
  agent.until_gone();
}

TEST_F(SweepsTest, ReportTheRemainsOfTheHost) {
  hosts_.script_again(clean);
  const auto swept = sweep();
  EXPECT_EQ(swept.unreached, "");
  EXPECT_THAT(swept.left, ElementsAre("pid 7"));
}

TEST_F(SweepsTest, RepeatAConnectionThatEndsBeforeTheAgentAnswers) {
  hosts_.script_again([this](ScriptedAgent& agent) {
    if (++attempts_ == 3) clean(agent);
  });
  EXPECT_THAT(sweep().left, ElementsAre("pid 7"));
  EXPECT_EQ(attempts_, 3);
}

TEST_F(SweepsTest, RepeatAConnectionThatEndsWhileTheAgentSweeps) {
  hosts_.script_again([this](ScriptedAgent& agent) {
    if (++attempts_ == 2) return clean(agent);
    agent.hello();
    agent.expect<wire::Sweep>();
  });
  EXPECT_THAT(sweep().left, ElementsAre("pid 7"));
  EXPECT_EQ(attempts_, 2);
}

TEST_F(SweepsTest, GiveUpAfterTheirTimeLimit) {
  hosts_.script_again([this](ScriptedAgent&) { ++attempts_; });
  const auto start = Clock::now();
  EXPECT_THAT(sweep().unreached, HasSubstr("lost the connection to the agent"));
  EXPECT_LE(Clock::now() - start, Sweeps::kReach + 2s);  // the machine may be busy
  EXPECT_GE(Clock::now() - start, Sweeps::kReach - 2 * Sweeps::kPause);
  EXPECT_GE(attempts_, 5);
}

}  // namespace
}  // namespace dlaunch::launcher
