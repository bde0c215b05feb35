#include <gmock/gmock.h>

#include <csignal>

#include "agent_process.h"
#include "hangs/stack_sampler.h"

namespace dlaunch::agent {
namespace {

using testing::HasSubstr;

/// Requests samples repeatedly until the answer is as expected.
bool until_seen(AgentProcess& agent, const wire::SampleStacks& question,
                const std::function<bool(const wire::Stacks&)>& wanted) {
  return until([&] {
    agent.stacks.clear();
    agent.send(question);
    return agent.until([&] { return !agent.stacks.empty(); }) && wanted(agent.stacks.front());
  });
}

bool contains(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST(AgentStacks, RanksWithEqualStacksShareTheText) {
  AgentProcess agent;
  const std::vector<std::string> sleeps = {"python3", "-I", "-c",
                                           "import time\ndef nap():\n  time.sleep(1000)\nnap()\n"};
  agent.start(0, sleeps);
  agent.start(1, sleeps);
  agent.start(2, {"sh", "-c", "sleep 1000; true"});
  const bool seen = until_seen(agent, {7, {}, true}, [&](const wire::Stacks& told) {
    return told.ranks.size() == 3 && contains(told.stacks[told.stack[0]], "nap") && told.stack[0] == told.stack[1] &&
           contains(told.texts[told.text[0]], "thread main, blocked") &&  // a rank may be sampled just before it sleeps
           told.pids[2] != agent.ranks[2].started->pid &&                 // the pid of sleep, a child of the shell
           contains(told.stacks[told.stack[2]], "nanosleep (libc.so.6)\n");
  });
  ASSERT_TRUE(seen);
  const wire::Stacks& told = agent.stacks.front();
  EXPECT_TRUE(told.sound());
  EXPECT_EQ(told.id, 7u);
  EXPECT_EQ(told.stacks[told.stack[0]], "nap (<string>:3)\n<module> (<string>:4)\n");
  EXPECT_EQ(told.flags[0] & wire::Stacks::kPython, wire::Stacks::kPython);
  EXPECT_THAT(told.remarks, testing::IsEmpty());
}

TEST(AgentStacks, OmitsAnEndedRank) {
  AgentProcess agent;
  agent.start(4, {"sleep", "1000"});
  EXPECT_TRUE(until_seen(agent, {1, {4, 9}, false}, [](const wire::Stacks& told) { return told.ranks.size() == 1; }));
  agent.send(wire::Signal{SIGKILL});
  ASSERT_TRUE(agent.until_ended(4));
  EXPECT_TRUE(until_seen(agent, {2, {4}, false}, [](const wire::Stacks& told) { return told.ranks.empty(); }));
}

hangs::RankTree made_tree(std::uint32_t rank, std::size_t name_size) {
  stacks::Sample sample;
  sample.pid = 5;
  sample.threads.resize(1);
  sample.threads[0].python.push_back({std::string(name_size, 'f') + std::to_string(rank), "a.py", 3});
  return {rank, {{sample}, 0, 10, 20}};
}

TEST(AgentStacks, RankThatWasNotSampledInTimeHasNoStackAndNoHash) {
  std::vector<hangs::RankTree> trees = {made_tree(0, 5), made_tree(1, 5)};
  for (hangs::RankTree& rank : trees) rank.tree.processes[0].threads[0].locals_hash = 77;
  trees[1].tree.timed_out = true;
  const wire::Stacks told = hangs::stacks_answer({1, {}, false}, 0, trees);
  EXPECT_TRUE(told.sound());
  EXPECT_EQ(told.flags[0] & wire::Stacks::kTimedOut, 0u);
  EXPECT_NE(told.locals[0], 0);
  EXPECT_NE(told.flags[1] & wire::Stacks::kTimedOut, 0u);
  EXPECT_EQ(told.locals[1], 0);
  EXPECT_EQ(told.all_locals[1], 0);
  EXPECT_EQ(told.stacks[told.stack[1]], "");
  EXPECT_EQ(told.cpu_ms[1], 10);
}

TEST(AgentStacks, AnswerNeverExceedsItsMessage) {
  std::vector<hangs::RankTree> trees;
  for (std::uint32_t rank = 0; rank < 200; ++rank) trees.push_back(made_tree(rank, rank % 2 == 0 ? 400 : 3000));
  const wire::Stacks told = hangs::stacks_answer({1, {}, true}, 0, trees);
  EXPECT_TRUE(told.sound());
  EXPECT_TRUE(wire::fits(told));
  EXPECT_EQ(told.ranks.size(), 200u);
  EXPECT_GT(told.stacks.size(), 20u);
  EXPECT_THAT(told.remarks, testing::ElementsAre(HasSubstr("the answer has reached its size limit")));
}

}  // namespace
}  // namespace dlaunch::agent
