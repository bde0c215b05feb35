// How a node that connected and the launcher that listened prove to each other that they have the job's key, and agree
// on keys for this connection. PURE; the random bytes are the caller's. docs/wire.md has it byte by byte.
//
//   node      hello   magic, nonce, ephemeral public key
//   launcher  answer  magic, nonce, ephemeral public key, proof over both
//   node      proof   over all of that
//
// The proofs are crypto_auth under the job's key with a different label for each side, so none can be mirrored, and
// each holds the other side's nonce, so none can be replayed. The session's keys come from crypto_kx, the job's key and
// all that was said. For an unauthenticated peer 104 bytes are kept, and nothing is sent before its hello is complete
// and begins with the magic.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "dialback/job_key.h"

namespace dlaunch::dialback {

inline constexpr std::string_view kMagic{"dlaunch\x01", 8};
inline constexpr size_t kNonceSize = 32;
inline constexpr size_t kPublicSize = 32;
inline constexpr size_t kProofSize = 32;
inline constexpr size_t kHelloSize = kMagic.size() + kNonceSize + kPublicSize;
inline constexpr size_t kAnswerSize = kHelloSize + kProofSize;

/// Random bytes from the kernel, for one handshake only.
struct HandshakeRandom {
  std::array<unsigned char, kNonceSize> nonce{};
  Secret seed;  ///< of the ephemeral key pair
};

/// What the two directions of a connection are sealed with.
struct SessionKeys {
  Secret send;
  Secret receive;
};

enum class HandshakeState { more, proven, refused };

/// An ephemeral key pair of crypto_kx.
struct KeyPair {
  explicit KeyPair(const Secret& seed);
  std::array<unsigned char, kPublicSize> open{};
  Secret hidden;
};

/// The side that connected.
class HandshakeClient {
 public:
  HandshakeClient(const Secret& key, const HandshakeRandom& random);

  const std::string& hello() const { return hello_; }  ///< to be sent first
  /// How many bytes may be fed; bytes after them are not the handshake's.
  size_t wanted() const { return kAnswerSize - answer_.size(); }
  HandshakeState feed(std::string_view bytes);
  /// After a refusal: it is a dlaunch that answered, but its proof is of another key.
  bool other_key() const { return answer_.size() == kAnswerSize; }
  std::string proof() const;  ///< once proven; to be sent
  SessionKeys keys() const;   ///< once proven

 private:
  bool agree();

  Secret key_;
  KeyPair pair_;
  std::string hello_;
  std::string answer_;
  SessionKeys keys_;
};

/// The side that listened.
class HandshakeServer {
 public:
  HandshakeServer(const Secret& key, const HandshakeRandom& random);

  size_t wanted() const { return answer_.empty() ? kHelloSize - hello_.size() : kProofSize - proof_.size(); }
  HandshakeState feed(std::string_view bytes);
  /// To be sent: what answers the bytes that were fed; mostly empty.
  std::string take_reply() { return std::exchange(reply_, {}); }
  /// A right hello was said. Who then proves nothing, or goes, has another key.
  bool answered() const { return !answer_.empty(); }
  bool silent() const { return hello_.empty(); }  ///< it has said nothing yet
  SessionKeys keys() const;                       ///< once proven

 private:
  void answer();
  bool agree();

  Secret key_;
  HandshakeRandom random_;
  std::string hello_;
  std::string answer_;
  std::string reply_;
  std::string proof_;
  SessionKeys keys_;
};

}  // namespace dlaunch::dialback
