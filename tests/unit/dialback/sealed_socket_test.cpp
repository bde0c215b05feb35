// Heartbeats of a connection to an authenticated peer.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "dialback/sealed_socket.h"
#include "sys/io.h"

namespace dlaunch::dialback {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kInterval{2000};

Secret key_of(unsigned char byte) {
  Secret key = job_key("a key of sixteen bytes").value();  // initializes libsodium
  std::memset(key.data(), byte, Secret::kSize);
  return key;
}

struct Pair {
  Pair() : Pair(sys::make_socketpair()) {}
  explicit Pair(std::pair<sys::Fd, sys::Fd> ends)
      : launcher(std::move(ends.first), {key_of(1), key_of(2)}), node(std::move(ends.second), {key_of(2), key_of(1)}) {}

  SealedSocket launcher;
  SealedSocket node;
};

/// The kinds of the records that `from` received.
std::vector<SealedRecord::Kind> received(SealedSocket& from) {
  std::vector<SealedRecord::Kind> kinds;
  from.receive();
  while (const auto record = from.next()) kinds.push_back(record->kind);
  return kinds;
}

TEST(SealedSocket, HasNoHeartbeatsBeforeTheyBegin) {
  Pair pair;
  const Time late = Clock::now() + std::chrono::hours(1);
  pair.launcher.beat(late);
  pair.launcher.flush();
  EXPECT_TRUE(received(pair.node).empty());
  EXPECT_FALSE(pair.node.silent(late));
  EXPECT_EQ(pair.node.next_beat(), Time::max());
}

TEST(SealedSocket, BeatsWithTheIntervalOfTheJobIfNoRecordPasses) {
  Pair pair;
  pair.launcher.begin_heartbeats(kInterval);
  const Time begun = Clock::now();
  pair.launcher.beat(begun + kInterval);
  pair.launcher.flush();
  EXPECT_TRUE(received(pair.node).empty());
  EXPECT_LE(pair.launcher.next_beat(), begun + 2 * kInterval);
  pair.launcher.beat(begun + 2 * kInterval);
  pair.launcher.flush();
  EXPECT_EQ(received(pair.node), std::vector{SealedRecord::Kind::alive});
}

TEST(SealedSocket, SendsNoHeartbeatBetweenTheHeartbeatsOfALink) {
  Pair pair;
  pair.launcher.begin_heartbeats(kInterval);
  pair.launcher.send(SealedRecord::Kind::data, "ping");
  pair.launcher.beat(Clock::now() + kInterval + milliseconds(500));  // the link's next ping is late
  pair.launcher.flush();
  EXPECT_EQ(received(pair.node), std::vector{SealedRecord::Kind::data});
}

TEST(SealedSocket, IsSilentAfterThreeIntervals) {
  Pair pair;
  pair.node.begin_heartbeats(kInterval);
  const Time begun = Clock::now();
  EXPECT_FALSE(pair.node.silent(begun + 3 * kInterval - milliseconds(500)));
  EXPECT_TRUE(pair.node.silent(pair.node.silent_at()));
}

TEST(SealedSocket, LauncherMayBeStoppedForThePauseLimit) {
  constexpr milliseconds kPause{600'000};
  Pair pair;
  pair.node.begin_heartbeats(kInterval, kPause);
  const Time begun = Clock::now();
  EXPECT_FALSE(pair.node.silent(begun + kPause - milliseconds(500)));
  EXPECT_TRUE(pair.node.silent(pair.node.silent_at()));
  pair.node.begin_heartbeats(kInterval, kInterval);
  EXPECT_FALSE(pair.node.silent(Clock::now() + 3 * kInterval - milliseconds(500))) << "a short pause limit";
}

TEST(SealedSocket, IsNotSilentAfterItsOwnPauseBeforeItReads) {
  Pair pair;
  pair.node.begin_heartbeats(kInterval);
  const Time begun = Clock::now();
  EXPECT_FALSE(pair.node.silent(begun + std::chrono::hours(1)));
  pair.launcher.begin_heartbeats(kInterval);
  pair.launcher.beat(begun + 2 * kInterval);
  pair.launcher.flush();
  EXPECT_EQ(received(pair.node), std::vector{SealedRecord::Kind::alive});
  EXPECT_FALSE(pair.node.silent(begun + 2 * kInterval));
}

}  // namespace
}  // namespace dlaunch::dialback
