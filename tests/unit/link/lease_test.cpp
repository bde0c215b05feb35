#include "link/heartbeat.h"

#include <gtest/gtest.h>

namespace dlaunch::link {
namespace {

using namespace std::chrono_literals;
const Time kStart{1000s};

TEST(Pings, AreNumberedAndAnswerTheNewestPingOfThePeer) {
  Pings pings;
  EXPECT_EQ(pings.next(kStart), (wire::Ping{1, 0}));
  pings.received({7, 0});
  pings.received({6, 0});
  EXPECT_EQ(pings.next(kStart), (wire::Ping{2, 7}));
}

TEST(Pings, TellWhenTheNewestAnsweredPingWasSent) {
  Pings pings;
  EXPECT_FALSE(pings.newest_answered());
  EXPECT_FALSE(pings.oldest_unanswered());
  for (int i = 1; i <= 4; ++i) pings.next(kStart + i * 1s);
  EXPECT_EQ(pings.oldest_unanswered(), kStart + 1s);
  EXPECT_TRUE(pings.received({1, 3}));
  EXPECT_EQ(pings.newest_answered(), kStart + 3s);
  EXPECT_EQ(pings.oldest_unanswered(), kStart + 4s);
  EXPECT_FALSE(pings.received({2, 3}));
  EXPECT_TRUE(pings.received({3, 4}));
  EXPECT_FALSE(pings.oldest_unanswered());
  EXPECT_EQ(pings.answered(), 4u);
}

TEST(Pings, IgnoreAnswersToPingsThatWereNotSent) {
  Pings pings;
  EXPECT_FALSE(pings.received({1, 5}));
  pings.next(kStart);
  EXPECT_FALSE(pings.received({1, ~0ull}));
  EXPECT_EQ(pings.answered(), 0u);
  EXPECT_TRUE(pings.received({1, 1}));
}

class ALease : public testing::Test {
 protected:
  static constexpr auto kLimit = 600s;
  void ping(Duration at) { lease.next_ping(kStart + at); }
  void answer(Duration at, std::uint64_t number) {
    lease.heard(kStart + at);
    lease.answered({1, number});
  }
  Duration end() const { return lease.end() - kStart; }

  Lease lease{5s, kLimit, kStart};
};

TEST_F(ALease, BeginsWithSetupAndLastsForThePauseLimit) {
  EXPECT_EQ(end(), kLimit);
  EXPECT_FALSE(lease.over(kStart + kLimit - 1ms));
  EXPECT_TRUE(lease.over(kStart + kLimit));
}

TEST_F(ALease, LastsForAtLeastFourHeartbeats) { EXPECT_EQ(Lease(5s, 0s, kStart).end(), kStart + 20s); }

TEST_F(ALease, IsRenewedToTheTimeAtWhichTheAnsweredPingWasSent) {
  lease.set_length(20s);
  ping(5s);
  ping(10s);
  answer(12s, 1);
  EXPECT_EQ(end(), 25s);
  answer(13s, 2);
  EXPECT_EQ(end(), 30s);
}

TEST_F(ALease, IsNotRenewedByAFrameWithoutAnAnswer) {
  lease.set_length(20s);
  ping(5s);
  answer(6s, 1);
  ping(10s);
  answer(24s, 1);
  EXPECT_EQ(end(), 25s);
}

TEST_F(ALease, LengthZeroMeansThePauseLimit) {
  lease.set_length(20s);
  lease.set_length(0s);
  EXPECT_EQ(end(), kLimit);
}

TEST_F(ALease, PauseExtendsAShortLeaseToThePauseLimit) {
  lease.set_length(20s);
  lease.heard(kStart + 7s);
  lease.pause(kStart + 7s);
  EXPECT_EQ(end(), kLimit + 7s);
}

TEST_F(ALease, NextFrameAfterPauseReducesTheRestToOneLease) {
  lease.set_length(20s);
  lease.pause(kStart + 7s);
  ping(10s);
  lease.heard(kStart + 100s);
  EXPECT_EQ(end(), 120s);
  lease.heard(kStart + 110s);
  EXPECT_EQ(end(), 120s) << "a second frame extended it";
  ping(105s);
  answer(115s, 2);
  EXPECT_EQ(end(), 125s);
}

TEST_F(ALease, AnnouncedSilenceIsNoSilence) {
  lease.heard(kStart + 7s);
  EXPECT_TRUE(lease.silent_since(kStart + 7s));
  EXPECT_FALSE(lease.silent_since(kStart + 6s));
  lease.pause(kStart + 8s);
  EXPECT_FALSE(lease.silent_since(kStart + 9s));
}

}  // namespace
}  // namespace dlaunch::link
