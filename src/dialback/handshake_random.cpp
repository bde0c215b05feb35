#include "dialback/handshake_random.h"

#include <cstring>
#include <string>

#include "sys/randomness.h"

namespace dlaunch::dialback {

HandshakeRandom random_for_handshake() {
  HandshakeRandom random;
  const std::string bytes = sys::random_bytes(random.nonce.size() + Secret::kSize);
  std::memcpy(random.nonce.data(), bytes.data(), random.nonce.size());
  std::memcpy(random.seed.data(), bytes.data() + random.nonce.size(), Secret::kSize);
  return random;
}

}  // namespace dlaunch::dialback
