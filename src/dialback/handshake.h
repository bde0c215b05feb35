// The mutual proof of the job's key between a connecting node and the listening launcher, and the agreement on keys for
// the connection. PURE; the caller provides random bytes. docs/wire.md describes each byte.
//
//   node      hello   magic, nonce, ephemeral public key
//   launcher  answer  magic, nonce, ephemeral public key, proof over both
//   node      proof   over all of that
//
// Proofs are crypto_auth under the job's key. A different label per side prevents mirrored proofs; the other side's
// nonce prevents replayed proofs. Session keys come from crypto_kx, the job's key and all exchanged bytes. For an
// unauthenticated peer, the launcher keeps 104 bytes, and sends nothing before a complete hello with the magic.
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

/// The keys that seal the two directions of a connection.
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
  /// The number of bytes to feed; later bytes do not belong to the handshake.
  size_t wanted() const { return kAnswerSize - answer_.size(); }
  HandshakeState feed(std::string_view bytes);
  /// After a refusal: true if the peer is dlaunch with another key.
  bool other_key() const { return answer_.size() == kAnswerSize; }
  std::string proof() const;  ///< if proven; to be sent
  SessionKeys keys() const;   ///< if proven

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
  /// The reply to the fed bytes, to be sent; mostly empty.
  std::string take_reply() { return std::exchange(reply_, {}); }
  /// True after a valid hello. A peer that then fails to prove the key, or disconnects, has another key.
  bool answered() const { return !answer_.empty(); }
  bool silent() const { return hello_.empty(); }  ///< true if no bytes were received
  SessionKeys keys() const;                       ///< if proven

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
