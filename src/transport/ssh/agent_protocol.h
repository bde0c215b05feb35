// Messages to and from the user's ssh-agent (draft-miller-ssh-agent), without the length before each. PURE.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::transport::ssh {

inline constexpr char kFailure = 5;
inline constexpr char kRequestIdentities = 11;
inline constexpr char kIdentitiesAnswer = 12;
inline constexpr char kSignRequest = 13;
inline constexpr char kSignature = 14;

inline constexpr size_t kLargestMessage = 256u << 10;

struct AgentKey {
  std::string blob;
  std::string comment;
  std::string signer = {};  ///< for a certificate from a file: the agent's key that signs for it; else empty
  bool operator==(const AgentKey&) const = default;
};

/// The keys of an answer that have types known to libssh, as many as can be read.
std::vector<AgentKey> parse_keys(std::string_view answer);

/// The answer that lists these keys.
std::string answer_with(std::span<const AgentKey> keys);

/// The keys after the one that was to sign; all when it is not among them.
std::span<const AgentKey> behind(std::span<const AgentKey> keys, std::string_view sign_request);

/// The request as the agent understands it: for a certificate that it does not hold, its key signs.
std::string with_signer(std::span<const AgentKey> keys, std::string_view sign_request);

}  // namespace dlaunch::transport::ssh
