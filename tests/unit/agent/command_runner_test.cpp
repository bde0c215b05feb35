// Programs that a real agent runs to answer a request.
#include <gmock/gmock.h>

#include "agent_process.h"

namespace dlaunch::agent {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class CommandRunnerTest : public testing::Test {
 protected:
  ~CommandRunnerTest() override { EXPECT_TRUE(AgentProcess::nothing_left()); }

  static wire::CommandResults ask(const std::vector<std::string>& commands, std::uint32_t patience_ms = 20000) {
    AgentProcess agent;
    agent.send(wire::RunCommands{"/usr/bin:/bin", patience_ms, commands});
    EXPECT_TRUE(agent.until([&] { return !agent.told.empty(); }));
    const wire::CommandResults told = agent.told.empty() ? wire::CommandResults{} : agent.told.front();
    agent.send(wire::Finish{});
    EXPECT_TRUE(agent.until([&] { return agent.clean.has_value(); }));
    EXPECT_EQ(agent.told.size(), 1u);
    return told;
  }
};

TEST_F(CommandRunnerTest, AnswersInTheOrderOfTheCommands) {
  const auto told = ask({"sh\n-c\nsleep 0.1; echo slow two", "echo\na b\nc", "sh\n-c\necho why >&2; exit 3"});
  EXPECT_THAT(told.printed, ElementsAre("slow two\n", "a b c\n", "why\n"));
  EXPECT_THAT(told.codes, ElementsAre(0u, 0u, 3u));
}

TEST_F(CommandRunnerTest, ReportsMissingAndKilledPrograms) {
  const auto told = ask({"hccn_tool_of_nobody", "sh\n-c\nkill -9 $$"});
  EXPECT_THAT(told.codes, ElementsAre(127u, 137u));
  EXPECT_THAT(told.printed[0], HasSubstr("hccn_tool_of_nobody"));
}

TEST_F(CommandRunnerTest, AnswersAnEmptyRequest) { EXPECT_THAT(ask({}).codes, ElementsAre()); }

TEST_F(CommandRunnerTest, KillsSlowCommandsAndReportsTheOthers) {
  const auto told = ask({"sleep\n1000", "echo\nquick"}, 300);
  EXPECT_THAT(told.codes, ElementsAre(124u, 0u));
  EXPECT_EQ(told.printed[1], "quick\n");
}

TEST_F(CommandRunnerTest, RunsManyCommandsWithMuchOutput) {
  std::vector<std::string> commands(100, "echo\nx");
  commands.emplace_back("head\n-c\n3000000\n/dev/zero");
  const auto told = ask(commands);
  EXPECT_THAT(told.codes, testing::Each(0u));
  EXPECT_EQ(told.printed[99], "x\n");
  EXPECT_EQ(told.printed[100].size(), 1u << 20);
}

TEST_F(CommandRunnerTest, FinishEndsRunningCommands) {
  AgentProcess agent;
  agent.send(wire::RunCommands{"/usr/bin:/bin", 60000, {"sleep\n1000"}});
  agent.listen(std::chrono::milliseconds(200));
  agent.send(wire::Finish{});
  EXPECT_TRUE(agent.until([&] { return agent.clean.has_value(); }));
  EXPECT_THAT(agent.clean->left, ElementsAre());
}

}  // namespace
}  // namespace dlaunch::agent
