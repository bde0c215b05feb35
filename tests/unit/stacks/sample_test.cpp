#include "stacks/sample.h"

#include <gmock/gmock.h>
#include <unistd.h>

namespace dlaunch::stacks {
namespace {

TEST(StacksSample, OfThisProcessHasItsThreadsAndCounters) {
  const Sample sample = take(::getpid(), Clock::now() + std::chrono::seconds(10));
  ASSERT_TRUE(sample.alive());
  EXPECT_EQ(sample.threads.front().tid, ::getpid());
  EXPECT_EQ(sample.threads.front().state, 'R');
  EXPECT_GT(sample.io_bytes, 0);
  EXPECT_FALSE(sample.python);
  EXPECT_THAT(sample.command, testing::HasSubstr("stacks_tests"));
  EXPECT_THAT(sample.remarks, testing::IsEmpty());
}

TEST(StacksSample, OfNoProcessIsNotAlive) {
  EXPECT_FALSE(take(0x7fffffff, Clock::now() + std::chrono::seconds(10)).alive());
  EXPECT_TRUE(take_tree(0x7fffffff, Clock::now() + std::chrono::seconds(10)).processes.size() == 1);
}

}  // namespace
}  // namespace dlaunch::stacks
