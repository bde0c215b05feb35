// Both sides of the handshake with a valid peer, and with each kind of invalid peer.
#include "dialback/handshake.h"

#include <gtest/gtest.h>

#include <cstring>
#include <tuple>

namespace dlaunch::dialback {
namespace {

Secret key_of(std::string_view text = "0123456789abcdef") { return job_key(text).value(); }

/// Not random, so that tests are repeatable.
HandshakeRandom random_of(unsigned char seed) {
  HandshakeRandom random;
  random.nonce.fill(seed);
  std::memset(random.seed.data(), seed, Secret::kSize);
  return random;
}

bool same(const Secret& one, const Secret& other) { return std::memcmp(one.data(), other.data(), Secret::kSize) == 0; }

struct Handshake : testing::Test {
  HandshakeClient client{key_of(), random_of(1)};
  HandshakeServer server{key_of(), random_of(2)};

  /// The server's reply to the hello.
  std::string answer() {
    EXPECT_EQ(server.feed(client.hello()), HandshakeState::more);
    return server.take_reply();
  }
};

TEST_F(Handshake, SucceedsWithSameKey) {
  EXPECT_EQ(client.feed(answer()), HandshakeState::proven);
  EXPECT_EQ(server.feed(client.proof()), HandshakeState::proven);
  EXPECT_TRUE(same(client.keys().send, server.keys().receive));
  EXPECT_TRUE(same(client.keys().receive, server.keys().send));
  EXPECT_FALSE(same(client.keys().send, client.keys().receive));
  EXPECT_EQ(server.take_reply(), "");
}

TEST_F(Handshake, DoesNotDependOnChunks) {
  for (const char byte : client.hello()) EXPECT_EQ(server.feed({&byte, 1}), HandshakeState::more);
  const std::string answer = server.take_reply();
  ASSERT_EQ(answer.size(), kAnswerSize);
  for (size_t i = 0; i < answer.size(); ++i) {
    EXPECT_EQ(client.wanted(), kAnswerSize - i);
    EXPECT_EQ(client.feed({&answer[i], 1}), i + 1 < answer.size() ? HandshakeState::more : HandshakeState::proven);
  }
  const std::string proof = client.proof();
  for (size_t i = 0; i < proof.size(); ++i) {
    EXPECT_EQ(server.wanted(), kProofSize - i);
    EXPECT_EQ(server.feed({&proof[i], 1}), i + 1 < proof.size() ? HandshakeState::more : HandshakeState::proven);
  }
}

TEST_F(Handshake, KeysDifferWithEachConnection) {
  std::ignore = client.feed(answer());
  HandshakeServer later(key_of(), random_of(3));
  HandshakeClient again(key_of(), random_of(1));
  std::ignore = later.feed(again.hello());
  ASSERT_EQ(again.feed(later.take_reply()), HandshakeState::proven);
  EXPECT_FALSE(same(client.keys().send, again.keys().send));
}

TEST_F(Handshake, RefusesLauncherWithAnotherKey) {
  HandshakeServer stranger(key_of("another key, long"), random_of(2));
  std::ignore = stranger.feed(client.hello());
  EXPECT_EQ(client.feed(stranger.take_reply()), HandshakeState::refused);
  EXPECT_TRUE(client.other_key());
}

TEST_F(Handshake, RefusesNodeWithAnotherKey) {
  std::ignore = answer();
  EXPECT_EQ(server.feed(std::string(kProofSize, 'x')), HandshakeState::refused);
  EXPECT_TRUE(server.answered());
}

TEST_F(Handshake, RefusesAnyChangedBit) {
  const std::string right = answer();
  for (size_t bit = 0; bit < right.size() * 8; ++bit) {
    std::string wrong = right;
    wrong[bit / 8] = static_cast<char>(wrong[bit / 8] ^ (1 << (bit % 8)));
    HandshakeClient hearer(key_of(), random_of(1));
    ASSERT_EQ(hearer.feed(wrong), HandshakeState::refused) << bit;
  }
  ASSERT_EQ(client.feed(right), HandshakeState::proven);
  for (size_t bit = 0; bit < kProofSize * 8; ++bit) {
    std::string wrong = client.proof();
    wrong[bit / 8] = static_cast<char>(wrong[bit / 8] ^ (1 << (bit % 8)));
    HandshakeServer hearer(key_of(), random_of(2));
    std::ignore = hearer.feed(client.hello());
    ASSERT_EQ(hearer.feed(wrong), HandshakeState::refused) << bit;
  }
}

TEST_F(Handshake, RefusesReplayedTranscript) {
  ASSERT_EQ(client.feed(answer()), HandshakeState::proven);
  const std::string transcript = client.hello() + client.proof();
  ASSERT_EQ(server.feed(client.proof()), HandshakeState::proven);
  HandshakeServer next(key_of(), random_of(3));
  EXPECT_EQ(next.feed(transcript), HandshakeState::refused);
}

TEST_F(Handshake, RefusesReplayedAnswer) {
  const std::string old = answer();
  HandshakeClient next(key_of(), random_of(4));
  EXPECT_EQ(next.feed(old), HandshakeState::refused);
}

/// A peer without the key sends the launcher's own bytes back to the launcher, and a node's own bytes to the node.
TEST_F(Handshake, RefusesMirroredBytes) {
  const std::string said = answer();
  EXPECT_EQ(server.feed(said.substr(kHelloSize)), HandshakeState::refused);
  HandshakeServer second(key_of(), random_of(5));
  std::ignore = second.feed(said.substr(0, kHelloSize));  // the launcher's challenge as a hello to the launcher
  HandshakeServer third(key_of(), random_of(2));
  std::ignore = third.feed(client.hello());
  EXPECT_EQ(third.feed(second.take_reply().substr(kHelloSize)), HandshakeState::refused);
  EXPECT_EQ(client.feed(client.hello() + std::string(kProofSize, '\0')), HandshakeState::refused);
}

TEST_F(Handshake, RefusesOtherProtocolsAtFirstWrongByte) {
  for (const std::string_view text :
       {"GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\x02", "SSH-2.0-OpenSSH_9.2\r\n", "dlaunch\x02"}) {
    HandshakeServer hearer(key_of(), random_of(2));
    EXPECT_EQ(hearer.feed(text), HandshakeState::refused) << text;
    EXPECT_EQ(hearer.take_reply(), "") << text;
    EXPECT_FALSE(hearer.answered()) << text;
    HandshakeClient node(key_of(), random_of(1));
    EXPECT_EQ(node.feed(text), HandshakeState::refused) << text;
    EXPECT_FALSE(node.other_key()) << text;
  }
}

TEST_F(Handshake, DoesNotAnswerHalfAHello) {
  EXPECT_TRUE(server.silent());
  EXPECT_EQ(server.feed(client.hello().substr(0, kHelloSize - 1)), HandshakeState::more);
  EXPECT_EQ(server.take_reply(), "");
  EXPECT_EQ(server.wanted(), 1u);
  EXPECT_FALSE(server.silent());
}

/// With a public key of small order, the exchanged key would be public.
TEST_F(Handshake, RefusesKeyOfSmallOrder) {
  const std::string hello = client.hello().substr(0, kMagic.size() + kNonceSize) + std::string(kPublicSize, '\0');
  EXPECT_EQ(server.feed(hello), HandshakeState::more);
  EXPECT_EQ(server.feed(std::string(kProofSize, 'x')), HandshakeState::refused);
}

TEST(JobKeyText, IsLongEnoughAndNeverShown) {
  const auto weak = job_key("hunter2");
  ASSERT_FALSE(weak);
  EXPECT_EQ(to_text(weak.error()).find("hunter2"), std::string::npos);
  EXPECT_NE(to_text(weak.error()).find("7 bytes"), std::string::npos);
  EXPECT_FALSE(job_key(std::string(5000, 'x')));
  EXPECT_TRUE(same(*job_key("0123456789abcdef\n"), key_of()));
  EXPECT_FALSE(same(key_of("another key, long"), key_of()));
}

}  // namespace
}  // namespace dlaunch::dialback
