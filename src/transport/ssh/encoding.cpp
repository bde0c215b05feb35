#include "transport/ssh/encoding.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace dlaunch::transport::ssh {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr size_t kBlock = 64;

std::uint32_t big_endian(const unsigned char* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
}

std::string big_endian(std::uint32_t number) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(number >> shift & 0xff);
  return bytes;
}

void mix(std::array<std::uint32_t, 5>& state, const unsigned char* block) {
  std::array<std::uint32_t, 80> w;
  for (size_t i = 0; i < 16; ++i) w[i] = big_endian(block + 4 * i);
  for (size_t i = 16; i < 80; ++i) w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  auto [a, b, c, d, e] = state;
  const auto round = [&](std::uint32_t f, std::uint32_t k, std::uint32_t word) {
    const std::uint32_t next = std::rotl(a, 5) + f + e + k + word;
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  };
  for (size_t i = 0; i < 20; ++i) round((b & c) | (~b & d), 0x5a827999, w[i]);
  for (size_t i = 20; i < 40; ++i) round(b ^ c ^ d, 0x6ed9eba1, w[i]);
  for (size_t i = 40; i < 60; ++i) round((b & c) | (b & d) | (c & d), 0x8f1bbcdc, w[i]);
  for (size_t i = 60; i < 80; ++i) round(b ^ c ^ d, 0xca62c1d6, w[i]);
  state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d, state[4] + e};
}

using State = std::array<std::uint32_t, 5>;
constexpr State kStart{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};

/// Of `text`, which follows `before` bytes that are in `state`.
HmacSha1::Digest finish(State state, size_t before, std::string_view text) {
  const std::uint64_t bits = std::uint64_t{before + text.size()} * 8;
  for (; text.size() >= kBlock; text.remove_prefix(kBlock)) {
    mix(state, reinterpret_cast<const unsigned char*>(text.data()));
  }
  std::array<unsigned char, 2 * kBlock> last{};
  std::copy(text.begin(), text.end(), last.begin());
  last[text.size()] = 0x80;
  const size_t size = text.size() < kBlock - 8 ? kBlock : 2 * kBlock;
  for (size_t i = 0; i < 8; ++i) last[size - 1 - i] = static_cast<unsigned char>(bits >> (8 * i) & 0xff);
  for (size_t at = 0; at < size; at += kBlock) mix(state, last.data() + at);
  HmacSha1::Digest digest;
  for (size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<unsigned char>(state[i / 4] >> (24 - 8 * (i % 4)) & 0xff);
  }
  return digest;
}

std::string_view text_of(const HmacSha1::Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

State after_block(std::string key, char with) {
  key.resize(kBlock, '\0');
  for (char& byte : key) byte = static_cast<char>(byte ^ with);
  State state = kStart;
  mix(state, reinterpret_cast<const unsigned char*>(key.data()));
  return state;
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t have = std::min<size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (size_t i = 0; i < 3; ++i) group = group << 8 | (i < have ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    for (size_t i = 0; i < 4; ++i) text += i <= have ? kDigits[group >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  while (!text.empty() && text.back() == '=') text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  std::uint32_t group = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t digit = kDigits.find(text[i]);
    if (digit == std::string_view::npos) return std::nullopt;
    group = group << 6 | static_cast<std::uint32_t>(digit);
    if (i % 4 != 0) bytes += static_cast<char>(group >> (6 - 2 * (i % 4)) & 0xff);
  }
  return bytes;
}

Sha1 sha1(std::string_view text) { return finish(kStart, 0, text); }

std::string to_hex(const Sha1& digest) {
  constexpr std::string_view kHexDigits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : digest) {
    text += kHexDigits[byte >> 4];
    text += kHexDigits[byte & 15];
  }
  return text;
}

HmacSha1::HmacSha1(std::string_view key) {
  std::string short_key(key);
  if (short_key.size() > kBlock) short_key = text_of(finish(kStart, 0, key));
  inner_ = after_block(short_key, 0x36);
  outer_ = after_block(std::move(short_key), 0x5c);
}

HmacSha1::Digest HmacSha1::of(std::string_view text) const {
  return finish(outer_, kBlock, text_of(finish(inner_, kBlock, text)));
}

std::string packed(std::string_view bytes) {
  return big_endian(static_cast<std::uint32_t>(bytes.size())).append(bytes);
}

std::string packed_number(std::uint32_t number) { return big_endian(number); }

std::optional<std::uint32_t> unpack_number(std::string_view& bytes) {
  if (bytes.size() < 4) return std::nullopt;
  const std::uint32_t number = big_endian(reinterpret_cast<const unsigned char*>(bytes.data()));
  bytes.remove_prefix(4);
  return number;
}

std::optional<std::string_view> unpack(std::string_view& bytes) {
  std::string_view rest = bytes;
  const auto size = unpack_number(rest);
  if (!size || *size > rest.size()) return std::nullopt;
  bytes = rest.substr(*size);
  return rest.substr(0, *size);
}

}  // namespace dlaunch::transport::ssh
