// The algorithms and limits allowed by an ssh configuration, as lists for libssh. Algorithms unknown to libssh are
// removed from a list. An empty result is an Error, because libssh would use its defaults instead. PURE.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dlaunch/error.h"

namespace dlaunch::transport::ssh {

/// Comma-separated, best first; empty: libssh's defaults.
struct Algorithms {
  std::string ciphers;
  std::string macs;
  std::string key_exchange;
  std::string host_keys;
  std::string public_keys;  ///< of users: PubkeyAcceptedAlgorithms
  std::optional<int> least_rsa_bits;
  std::optional<std::uint64_t> rekey_bytes;
  std::optional<std::uint32_t> rekey_seconds;
};

enum class AlgorithmKind { ciphers, macs, key_exchange, host_keys, public_keys };

/// Parses a value of ssh_config(5): names and patterns. The prefix +, - or ^ adds to, removes from or puts before the
/// defaults. The Error has only `why` and `hint`.
Result<std::string> allowed_algorithms(AlgorithmKind kind, std::string_view value);

}  // namespace dlaunch::transport::ssh
