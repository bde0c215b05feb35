// Certificates of users' keys, as ssh-keygen -s makes them: a line "type base64 comment". PURE.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace dlaunch::transport::ssh {

struct Certificate {
  std::string path;
  std::string type;    ///< "ssh-ed25519-cert-v01@openssh.com"
  std::string base64;  ///< of `blob`
  std::string blob;
};

/// nullopt when it is none.
std::optional<Certificate> read_certificate(std::string path, std::string_view text);

bool is_certificate_type(std::string_view type);

/// Whether the certificate is for this public key.
bool certifies(std::string_view certificate, std::string_view key);

}  // namespace dlaunch::transport::ssh
