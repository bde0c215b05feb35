// The user's private keys and their certificates (ssh-keygen -s), read once for all hosts. PURE; the caller reads the
// files.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "transport/ssh/config.h"

namespace dlaunch::transport::ssh {

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
