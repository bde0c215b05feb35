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
  std::string key;          ///< the file's text, as libssh parses it; a secret
  std::string public_blob;  ///< the public key in binary, to find it in an agent; empty: unknown
};

/// `text` is the private key's file, empty when there is none; `public_text` that of FILE.pub, which may be empty.
Identity read_identity(std::string path, std::string text, std::string_view public_text);

/// Whether it is our own private key and others may read it; ssh ignores such a key.
bool is_unprotected(const File& file, unsigned user_id);

/// From a line "type base64 comment".
struct Certificate {
  std::string path;
  std::string type;    ///< "ssh-ed25519-cert-v01@openssh.com"
  std::string base64;  ///< of `blob`
  std::string blob;
};

/// nullopt when the text is no certificate.
std::optional<Certificate> read_certificate(std::string path, std::string_view text);

bool is_certificate_type(std::string_view type);

/// Whether the certificate is for this public key.
bool certifies(std::string_view certificate, std::string_view key);

}  // namespace dlaunch::transport::ssh
