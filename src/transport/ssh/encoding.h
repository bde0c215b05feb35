// Numbers and strings of ssh's binary formats. PURE.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::transport::ssh {

/// Returns the bytes with their length in four bytes in front.
std::string packed(std::string_view bytes);
/// Removes such a string from the front of `bytes`; nullopt: not a complete string.
std::optional<std::string_view> unpack(std::string_view& bytes);
std::string packed_number(std::uint32_t number);
std::optional<std::uint32_t> unpack_number(std::string_view& bytes);

// Messages to and from the user's ssh-agent (draft-miller-ssh-agent), without their length prefix. PURE.

inline constexpr char kFailure = 5;
inline constexpr char kRequestIdentities = 11;
inline constexpr char kIdentitiesAnswer = 12;
inline constexpr char kSignRequest = 13;
inline constexpr char kSignature = 14;

inline constexpr size_t kLargestMessage = 256u << 10;

struct AgentKey {
  std::string blob;
  std::string comment;
  std::string signer = {};  ///< only for a certificate from a file: the key in the agent that signs for the certificate
  bool operator==(const AgentKey&) const = default;
};

/// The readable keys of an answer with types known to libssh.
std::vector<AgentKey> parse_keys(std::string_view answer);

/// The answer that lists these keys.
std::string answer_with(std::span<const AgentKey> keys);

/// The keys after the key of the sign request; all keys if the request has another key.
std::span<const AgentKey> behind(std::span<const AgentKey> keys, std::string_view sign_request);

/// The request with a key known to the agent: a certificate from a file is replaced by its signing key.
std::string with_signer(std::span<const AgentKey> keys, std::string_view sign_request);

}  // namespace dlaunch::transport::ssh
