// The user's private keys, read once however many hosts. PURE; the caller reads the files.
#pragma once

#include <string>
#include <string_view>

#include "transport/ssh/config.h"

namespace dlaunch::transport::ssh {

struct Identity {
  enum class Kind { usable, encrypted, unprotected, foreign };
  std::string path;
  Kind kind = Kind::usable;
  std::string key;          ///< the file's text, as libssh parses it; never told to anybody
  std::string public_blob;  ///< the public key in binary, to find it in an agent; empty: not known
};

/// `text`: the private key's file; empty when there is none. `public_text`: that of FILE.pub, may be empty.
Identity read_identity(std::string path, std::string text, std::string_view public_text);

/// A private key of our own that others may read, which ssh ignores.
bool is_unprotected(const File& file, unsigned user_id);

}  // namespace dlaunch::transport::ssh
