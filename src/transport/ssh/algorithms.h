// The algorithms and limits that an ssh configuration allows, as lists for libssh. What libssh does not have is left
// out of a list. A list of which nothing remains is an error, because libssh would use its own instead. PURE.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dlaunch/error.h"

namespace dlaunch::transport::ssh {

/// Comma-separated, best first; empty: libssh's default.
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

/// Parses a value of ssh_config: names and patterns, preceded by +, - or ^ to add to, remove from or put before the
/// default ones. The error has only a `why`.
Result<std::string> allowed_algorithms(AlgorithmKind kind, std::string_view value);

}  // namespace dlaunch::transport::ssh
