// Base64, SHA-1 and its HMAC, as known_hosts files use them, and the strings of ssh's binary formats. PURE.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dlaunch::transport::ssh {

std::string to_base64(std::string_view bytes);
/// nullopt when malformed. White space is not allowed.
std::optional<std::string> from_base64(std::string_view text);

using Sha1 = std::array<unsigned char, 20>;
/// Not for secrets, either.
Sha1 sha1(std::string_view text);
std::string to_hex(const Sha1& digest);

/// HMAC-SHA1 under one key. Not for secrets: names in known_hosts are hashed so.
class HmacSha1 {
 public:
  using Digest = Sha1;
  explicit HmacSha1(std::string_view key);
  Digest of(std::string_view text) const;

 private:
  using State = std::array<std::uint32_t, 5>;
  State inner_;
  State outer_;
};

/// A length in four bytes, and as many bytes.
std::string packed(std::string_view bytes);
/// Takes one such string off the front; nullopt when there is none.
std::optional<std::string_view> unpack(std::string_view& bytes);
std::string packed_number(std::uint32_t number);
std::optional<std::uint32_t> unpack_number(std::string_view& bytes);

}  // namespace dlaunch::transport::ssh
