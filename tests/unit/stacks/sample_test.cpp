#include "stacks/sampler.h"

#include <gmock/gmock.h>
#include <unistd.h>

namespace dlaunch::stacks {
namespace {

TEST(StacksSample, OfThisProcessHasThreadsAndCounters) {
  Sampler sampler{.deadline = Clock::now() + std::chrono::seconds(10)};
  const Sample sample = take(::getpid(), sampler);
  ASSERT_TRUE(sample.alive());
  EXPECT_EQ(sample.threads.front().tid, ::getpid());
  EXPECT_EQ(sample.threads.front().state, 'R');
  EXPECT_GT(sample.io_bytes, 0);
  EXPECT_FALSE(sample.python);
  EXPECT_THAT(sample.command, testing::HasSubstr("stacks_tests"));
  EXPECT_THAT(sample.remarks, testing::IsEmpty());
}

TEST(StacksSample, OfAMissingProcessIsNotAlive) {
  Sampler sampler{.deadline = Clock::now() + std::chrono::seconds(10)};
  EXPECT_FALSE(take(0x7fffffff, sampler).alive());
  EXPECT_EQ(take_tree(0x7fffffff, sampler).processes.size(), 1);
}

}  // namespace
}  // namespace dlaunch::stacks
