#include "hangs/rank_stacks.h"

#include <gmock/gmock.h>

namespace dlaunch::hangs {
namespace {

wire::Stacks answer_of(std::vector<std::uint32_t> ranks) {
  wire::Stacks stacks;
  const std::size_t count = ranks.size();
  stacks.ranks = std::move(ranks);
  stacks.stack.assign(count, 0);
  stacks.text.assign(count, wire::Stacks::kNone);
  stacks.states.assign(count, 'S');
  stacks.waits.resize(count);
  for (auto* numbers : {&stacks.cpu_ms, &stacks.io_bytes, &stacks.locals, &stacks.all_locals}) numbers->resize(count);
  stacks.pids.resize(count);
  stacks.flags.resize(count);
  stacks.stacks = {"main (a)\n"};
  return stacks;
}

TEST(RankStacks, SkipsARankThatWasNotSampledInTime) {
  StackSnapshot look;
  wire::Stacks stacks = answer_of({4, 5, 6});
  stacks.flags[1] = wire::Stacks::kTimedOut | wire::Stacks::kIncomplete;
  ASSERT_TRUE(stacks.sound());
  look.answers.emplace(0, stacks);
  std::vector<int> ranks;
  for (const job::RankSample& sample : rank_samples(look)) ranks.push_back(sample.rank);
  EXPECT_THAT(ranks, testing::ElementsAre(4, 6));
}

}  // namespace
}  // namespace dlaunch::hangs
