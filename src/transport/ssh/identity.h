// The user's private keys and their certificates (ssh-keygen -s), read once for all hosts. PURE; the caller reads the
// files.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "transport/ssh/config.h"

namespace dlaunch::transport::ssh {

// Numbers and strings of ssh's binary formats. PURE.

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

struct Identity {
  enum class Kind { usable, encrypted, unprotected, foreign };
  std::string path;
  Kind kind = Kind::usable;
  std::string key;          ///< the text of the file, for libssh; a secret
  std::string public_blob;  ///< the binary public key, to find the key in an agent; empty: unknown
};

/// `text`: the file of the private key, empty if missing. `public_text`: the file FILE.pub, may be empty.
Identity read_identity(std::string path, std::string text, std::string_view public_text);

/// True if the user's private key is readable by other users; ssh ignores such keys.
bool is_unprotected(const File& file, unsigned user_id);

/// From a line "type base64 comment".
struct Certificate {
  std::string path;
  std::string type;    ///< "ssh-ed25519-cert-v01@openssh.com"
  std::string base64;  ///< of `blob`
  std::string blob;
};

/// Returns nullopt if `text` is not a certificate.
std::optional<Certificate> read_certificate(std::string path, std::string_view text);

bool is_certificate_type(std::string_view type);

/// True if the certificate is for this public key.
bool certifies(std::string_view certificate, std::string_view key);

}  // namespace dlaunch::transport::ssh
