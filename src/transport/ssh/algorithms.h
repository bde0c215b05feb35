// The algorithms and limits that an ssh configuration allows, as lists for libssh. What libssh does not have is left
// out of a list; a list of which nothing remains is an error, because libssh would go on with its own. PURE.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "dlaunch/error.h"

namespace dlaunch::transport::ssh {

/// Comma-separated, best first; empty: as libssh has it.
struct Algorithms {
  std::string ciphers;
  std::string macs;
  std::string key_exchange;
  std::string host_keys;
  std::string public_keys;  ///< of users, PubkeyAcceptedAlgorithms
  std::optional<int> least_rsa_bits;
  std::optional<std::uint64_t> rekey_bytes;
  std::optional<std::uint32_t> rekey_seconds;
};

enum class AlgorithmKind { ciphers, macs, key_exchange, host_keys, public_keys };

/// A value of ssh_config: names and patterns, in front of all +, - or ^ to add to, take from or head the usual ones.
/// The error has `why` alone.
Result<std::string> allowed_algorithms(AlgorithmKind kind, std::string_view value);

}  // namespace dlaunch::transport::ssh
