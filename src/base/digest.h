// SHA-1, HMAC-SHA1, base64 and hexadecimal digits, by nettle; and FNV-1a. PURE.
#pragma once

#include <nettle/hmac.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dlaunch {

using Sha1 = std::array<unsigned char, SHA1_DIGEST_SIZE>;
/// Not for secrets: only for the file formats of OpenSSH.
Sha1 sha1(std::string_view text);

/// HMAC-SHA1 with one key, as in hashed known_hosts names. Not for secrets.
class HmacSha1 {
 public:
  using Digest = Sha1;
  explicit HmacSha1(std::string_view key);
  Digest of(std::string_view text) const;

 private:
  hmac_sha1_ctx keyed_;
};

std::string to_base64(std::string_view bytes);
/// Returns nullopt for malformed text. White space is malformed.
std::optional<std::string> from_base64(std::string_view text);

std::string_view bytes_of(const Sha1& digest);
std::string to_hex(std::string_view bytes);

/// FNV-1a, 64 bits: a hash without cryptographic strength, equal on every machine. PURE.
class Fnv1a {
 public:
  void add(std::string_view bytes) {
    for (const char byte : bytes) add_byte(static_cast<unsigned char>(byte));
  }
  /// Hashes the lowest byte first.
  void add(std::uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) add_byte(number >> shift & 0xff);
  }
  std::uint64_t value() const { return value_; }

 private:
  void add_byte(std::uint64_t byte) { value_ = (value_ ^ byte) * 0x100000001b3; }

  std::uint64_t value_ = 0xcbf29ce484222325;
};

}  // namespace dlaunch
