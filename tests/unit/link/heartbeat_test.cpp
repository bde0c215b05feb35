#include "link/heartbeat.h"

#include <gtest/gtest.h>

namespace dlaunch::link {
namespace {

using namespace std::chrono_literals;
const Time kStart{1000s};

/// Checks the heartbeat once per interval, and at `then`.
bool dead_at(Heartbeat& heartbeat, Time from, Time then) {
  for (Time at = from; at < then; at += heartbeat.interval()) {
    if (heartbeat.dead(at)) return true;
  }
  return heartbeat.dead(then);
}

TEST(Heartbeat, ExpiresAfterThreeSilentIntervals) {
  Heartbeat heartbeat(100ms, kStart);
  EXPECT_FALSE(dead_at(heartbeat, kStart, kStart + 300ms));
  EXPECT_TRUE(heartbeat.dead(kStart + 301ms));
}

TEST(Heartbeat, MessageRestartsTheWait) {
  Heartbeat heartbeat(100ms, kStart);
  heartbeat.heard(kStart + 250ms);
  EXPECT_FALSE(dead_at(heartbeat, kStart, kStart + 550ms));
  EXPECT_TRUE(heartbeat.dead(kStart + 551ms));
}

TEST(Heartbeat, IgnoresAnnouncedSilence) {
  Heartbeat heartbeat(100ms, kStart);
  heartbeat.pause();
  EXPECT_FALSE(dead_at(heartbeat, kStart, kStart + 1h));
  heartbeat.heard(kStart + 1h);
  EXPECT_FALSE(dead_at(heartbeat, kStart + 1h, kStart + 1h + 300ms));
  EXPECT_TRUE(heartbeat.dead(kStart + 1h + 301ms));
}

TEST(Heartbeat, IgnoresTheTimeOfItsOwnSuspension) {
  Heartbeat heartbeat(100ms, kStart);
  EXPECT_TRUE(dead_at(heartbeat, kStart, kStart + 1s));
  heartbeat.resumed(kStart + 1s);
  EXPECT_FALSE(dead_at(heartbeat, kStart + 1s, kStart + 1300ms));
  EXPECT_TRUE(heartbeat.dead(kStart + 1301ms));
}

TEST(Heartbeat, AllowsAnotherIntervalAfterALateCheck) {
  Heartbeat heartbeat(100ms, kStart);
  EXPECT_FALSE(heartbeat.dead(kStart + 1h));
  EXPECT_FALSE(heartbeat.dead(kStart + 1h + 100ms));
  EXPECT_TRUE(heartbeat.dead(kStart + 1h + 101ms));
  heartbeat.heard(kStart + 1h + 101ms);
  EXPECT_FALSE(heartbeat.dead(kStart + 2h));
  heartbeat.heard(kStart + 2h);
  EXPECT_FALSE(dead_at(heartbeat, kStart + 2h, kStart + 2h + 300ms));
}

}  // namespace
}  // namespace dlaunch::link
