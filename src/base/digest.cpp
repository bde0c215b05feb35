#include "base/digest.h"

#include <nettle/base16.h>
#include <nettle/base64.h>

namespace dlaunch {
namespace {

const std::uint8_t* octets(std::string_view text) { return reinterpret_cast<const std::uint8_t*>(text.data()); }

}  // namespace

Sha1 sha1(std::string_view text) {
  sha1_ctx context;
  sha1_init(&context);
  sha1_update(&context, text.size(), octets(text));
  Sha1 digest;
  sha1_digest(&context, digest.size(), digest.data());
  return digest;
}

HmacSha1::HmacSha1(std::string_view key) { hmac_sha1_set_key(&keyed_, key.size(), octets(key)); }

HmacSha1::Digest HmacSha1::of(std::string_view text) const {
  hmac_sha1_ctx context = keyed_;
  hmac_sha1_update(&context, text.size(), octets(text));
  Digest digest;
  hmac_sha1_digest(&context, digest.size(), digest.data());
  return digest;
}

std::string to_base64(std::string_view bytes) {
  std::string text(BASE64_ENCODE_RAW_LENGTH(bytes.size()), '\0');
  base64_encode_raw(text.data(), bytes.size(), octets(bytes));
  return text;
}

/// nettle ignores white space. nettle requires padding, but some programs omit it.
std::optional<std::string> from_base64(std::string_view text) {
  while (text.ends_with('=')) text.remove_suffix(1);
  if (text.size() % 4 == 1 || text.find_first_of(" \t\n\v\f\r") != std::string_view::npos) return std::nullopt;
  base64_decode_ctx context;
  base64_decode_init(&context);
  std::string bytes(BASE64_DECODE_LENGTH(text.size()), '\0');
  size_t size = bytes.size();
  const auto into = reinterpret_cast<std::uint8_t*>(bytes.data());
  if (base64_decode_update(&context, &size, into, text.size(), text.data()) == 0) return std::nullopt;
  bytes.resize(size);
  return bytes;
}

std::string_view bytes_of(const Sha1& digest) { return {reinterpret_cast<const char*>(digest.data()), digest.size()}; }

std::string to_hex(std::string_view bytes) {
  std::string text(BASE16_ENCODE_LENGTH(bytes.size()), '\0');
  base16_encode_update(text.data(), bytes.size(), octets(bytes));
  return text;
}

}  // namespace dlaunch
