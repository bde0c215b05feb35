#include "chaos/fault.h"

#include <gtest/gtest.h>

namespace dlaunch::chaos {
namespace {

using namespace std::chrono_literals;

const Time kStart = Time() + 1h;

Schedule schedule(std::initializer_list<const char*> faults) {
  std::vector<Fault> parsed;
  for (const char* const text : faults) parsed.push_back(*parse_fault(text));
  return Schedule(parsed);
}

std::vector<size_t> begins(const Schedule& schedule, Time now) {
  std::vector<size_t> faults;
  for (const auto& due : schedule.due(now)) {
    if (!due.ends) faults.push_back(due.fault);
  }
  return faults;
}

TEST(Schedule, StartsTheClockWhenAllRanksRun) {
  Schedule plan = schedule({"kill:rank=0@3s", "kill:rank=1@1s"});
  EXPECT_FALSE(plan.next());
  EXPECT_TRUE(plan.due(kStart + 1h).empty());
  plan.round_began(0, kStart);
  EXPECT_EQ(plan.next(), kStart + 1s);
  EXPECT_TRUE(plan.due(kStart + 999ms).empty());
  EXPECT_EQ(begins(plan, kStart + 3s), (std::vector<size_t>{1, 0}));
  plan.begun(1, kStart + 1s);
  EXPECT_EQ(plan.next(), kStart + 3s);
  plan.begun(0, kStart + 3s);
  EXPECT_FALSE(plan.next());
}

TEST(Schedule, FiresAtTheNthMatchingLine) {
  Schedule plan = schedule({"kill:rank=0@line:/step \\d+/#2"});
  plan.line("step 1", kStart);  // before all ranks are known to run
  plan.round_began(0, kStart);
  plan.line("loss 2", kStart);
  EXPECT_TRUE(plan.due(kStart).empty());
  plan.line("[1] step 7 of 9", kStart + 1s);
  EXPECT_EQ(begins(plan, kStart + 1s), (std::vector<size_t>{0}));
  plan.begun(0, kStart + 1s);
  plan.line("step 8", kStart + 2s);
  EXPECT_TRUE(plan.due(kStart + 2s).empty());
}

TEST(Schedule, MatchesLinesOfAnyLength) {
  Schedule plan = schedule({"kill:rank=0@line:/(x+x+)+y$/"});
  plan.round_began(0, kStart);
  plan.line(std::string(100'000, 'x'), kStart);
  EXPECT_TRUE(plan.due(kStart).empty());
  plan.line(std::string(100'000, 'x') + "y", kStart);
  EXPECT_EQ(plan.due(kStart).size(), 1U);
}

TEST(Schedule, EndsAFaultAfterItsDuration) {
  Schedule plan = schedule({"stop:rank=0@1s+2s", "cut:a@1s"});
  plan.round_began(0, kStart);
  plan.begun(0, kStart + 1s);
  plan.begun(1, kStart + 1s);
  EXPECT_EQ(plan.next(), kStart + 3s);
  const auto due = plan.due(kStart + 3s);
  ASSERT_EQ(due.size(), 1U);
  EXPECT_TRUE(due[0].ends);
  plan.ended(0);
  EXPECT_FALSE(plan.next());
}

TEST(Schedule, RetriesAMissedFaultInTheNextRound) {
  Schedule plan = schedule({"kill:rank=0@1s", "kill:rank=0@round=2:1s"});
  plan.round_began(0, kStart);
  plan.missed(0);
  EXPECT_FALSE(plan.next());
  plan.round_began(1, kStart + 5s);
  EXPECT_EQ(begins(plan, kStart + 6s), (std::vector<size_t>{0}));
  plan.begun(0, kStart + 6s);
  plan.round_began(2, kStart + 10s);
  EXPECT_EQ(plan.next(), kStart + 11s);
}

}  // namespace
}  // namespace dlaunch::chaos
