#include "link/heartbeat.h"

#include <gtest/gtest.h>

namespace dlaunch::link {
namespace {

using namespace std::chrono_literals;
const Heartbeat::Time kStart{1000s};

TEST(Heartbeat, LivesThroughThreeIntervalsAndNoLonger) {
  const Heartbeat heartbeat(100ms, kStart);
  EXPECT_FALSE(heartbeat.dead(kStart));
  EXPECT_FALSE(heartbeat.dead(kStart + 300ms));
  EXPECT_TRUE(heartbeat.dead(kStart + 301ms));
}

TEST(Heartbeat, BeingHeardStartsTheWaitAnew) {
  Heartbeat heartbeat(100ms, kStart);
  heartbeat.heard(kStart + 250ms);
  EXPECT_FALSE(heartbeat.dead(kStart + 550ms));
  EXPECT_TRUE(heartbeat.dead(kStart + 551ms));
}

TEST(Heartbeat, ForgivesSilenceThatWasAnnounced) {
  Heartbeat heartbeat(100ms, kStart);
  heartbeat.pause();
  EXPECT_FALSE(heartbeat.dead(kStart + 1h));
  heartbeat.heard(kStart + 1h);
  EXPECT_FALSE(heartbeat.dead(kStart + 1h + 300ms));
  EXPECT_TRUE(heartbeat.dead(kStart + 1h + 301ms));
}

TEST(Heartbeat, ForgivesTheTimeThatWeWereStoppedOurselves) {
  Heartbeat heartbeat(100ms, kStart);
  EXPECT_TRUE(heartbeat.dead(kStart + 1h));
  heartbeat.resumed(kStart + 1h);
  EXPECT_FALSE(heartbeat.dead(kStart + 1h + 300ms));
  EXPECT_TRUE(heartbeat.dead(kStart + 1h + 301ms));
}

}  // namespace
}  // namespace dlaunch::link
