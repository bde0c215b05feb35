#include "link/heartbeat.h"

#include <gtest/gtest.h>

namespace dlaunch::link {
namespace {

using namespace std::chrono_literals;
const Time kStart{1000s};

TEST(Heartbeat, ExpiresExactlyThreeIntervalsAfterTheLastFrame) {
  Heartbeat heartbeat(100ms, kStart);
  EXPECT_EQ(heartbeat.deadline(), kStart + 300ms);
  EXPECT_FALSE(heartbeat.dead(kStart + 299ms));
  EXPECT_TRUE(heartbeat.dead(kStart + 300ms));
}

TEST(Heartbeat, MessageRestartsTheWait) {
  Heartbeat heartbeat(100ms, kStart);
  heartbeat.heard(kStart + 250ms);
  EXPECT_EQ(heartbeat.deadline(), kStart + 550ms);
  EXPECT_FALSE(heartbeat.dead(kStart + 549ms));
  EXPECT_TRUE(heartbeat.dead(kStart + 550ms));
}

TEST(Heartbeat, AllowsAnotherIntervalAfterAStopOfThisProcess) {
  Heartbeat heartbeat(100ms, kStart);
  EXPECT_FALSE(heartbeat.dead(kStart + 1h));
  EXPECT_EQ(heartbeat.deadline(), kStart + 1h + 100ms);
  EXPECT_FALSE(heartbeat.dead(kStart + 1h + 99ms));
  EXPECT_TRUE(heartbeat.dead(kStart + 1h + 100ms));
}

TEST(Heartbeat, AllowsAnotherIntervalAfterEachStopOfThisProcess) {
  Heartbeat heartbeat(100ms, kStart);
  EXPECT_FALSE(heartbeat.dead(kStart + 1h));
  EXPECT_FALSE(heartbeat.dead(kStart + 2h));
  heartbeat.heard(kStart + 2h);
  EXPECT_FALSE(heartbeat.dead(kStart + 3h));
  EXPECT_TRUE(heartbeat.dead(heartbeat.deadline()));
}

TEST(Heartbeat, AllowsLittleTimeOnceOnABusyMachine) {
  Heartbeat heartbeat(5s, kStart);
  EXPECT_FALSE(heartbeat.dead(kStart + 15s + 200ms));
  EXPECT_EQ(heartbeat.deadline(), kStart + 15s + 800ms);
  EXPECT_TRUE(heartbeat.dead(heartbeat.deadline() + 200ms)) << "late again";
}

TEST(Heartbeat, PunctualCheckAllowsNoFurtherTime) {
  Heartbeat heartbeat(5s, kStart);
  EXPECT_TRUE(heartbeat.dead(kStart + 15s + 100ms));
}

}  // namespace
}  // namespace dlaunch::link
