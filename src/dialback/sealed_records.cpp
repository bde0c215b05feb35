#include "dialback/sealed_records.h"

#include <sodium.h>

#include <stdexcept>

namespace dlaunch::dialback {
namespace {

constexpr size_t kLengthBytes = 4;
constexpr size_t kAdded = 1 + crypto_secretstream_xchacha20poly1305_ABYTES;  // the kind, the tag and the authenticator
static_assert(crypto_secretstream_xchacha20poly1305_KEYBYTES == Secret::kSize);

const unsigned char* raw(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }
unsigned char* raw(std::string& text) { return reinterpret_cast<unsigned char*>(text.data()); }

std::string length_bytes(size_t length) {
  std::string bytes;
  for (size_t i = 0; i < kLengthBytes; ++i) bytes += static_cast<char>((length >> (8 * i)) & 0xff);
  return bytes;
}

size_t length_in(std::string_view bytes) {
  size_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) length |= size_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return length;
}

tl::unexpected<Error> bad_record(std::string why) {
  return fail({"", "invalid record", std::move(why), "", kExitHostLost});
}

}  // namespace

Sealer::Sealer(const Secret& key) : header_(crypto_secretstream_xchacha20poly1305_HEADERBYTES, '\0') {
  ::crypto_secretstream_xchacha20poly1305_init_push(&state_, raw(header_), key.data());
}

Sealer::~Sealer() { ::sodium_memzero(&state_, sizeof state_); }

void Sealer::seal(SealedRecord::Kind kind, std::string_view payload, std::string& out, bool last) {
  if (payload.size() > kMostRecord) throw std::length_error("dialback::Sealer: a record is longer than kMostRecord");
  out += std::exchange(header_, {});
  const std::string length = length_bytes(payload.size() + kAdded);
  std::string plain(1, static_cast<char>(kind));
  plain += payload;
  std::string sealed(payload.size() + kAdded, '\0');
  const unsigned char tag =
      last ? crypto_secretstream_xchacha20poly1305_TAG_FINAL : crypto_secretstream_xchacha20poly1305_TAG_MESSAGE;
  ::crypto_secretstream_xchacha20poly1305_push(&state_, raw(sealed), nullptr, raw(std::string_view(plain)),
                                               plain.size(), raw(std::string_view(length)), length.size(), tag);
  out += length;
  out += sealed;
}

Opener::~Opener() { ::sodium_memzero(&state_, sizeof state_); }

/// Taken bytes are dropped when they are half of the buffer: on average, each byte moves at most once.
void Opener::take(size_t size) {
  start_ += size;
  if (start_ < buffer_.size() - start_) return;
  buffer_.erase(0, start_);
  start_ = 0;
}

bool Opener::begin() {
  const bool good = ::crypto_secretstream_xchacha20poly1305_init_pull(&state_, raw(rest()), key_.data()) == 0;
  take(crypto_secretstream_xchacha20poly1305_HEADERBYTES);
  begun_ = true;
  return good;
}

Result<std::optional<SealedRecord>> Opener::next() {
  if (!begun_) {
    if (rest().size() < crypto_secretstream_xchacha20poly1305_HEADERBYTES) return std::nullopt;
    if (!begin()) return bad_record("header of another connection");
  }
  if (rest().size() < kLengthBytes) return std::nullopt;
  if (ended_) return bad_record("data after the last record");
  const size_t length = length_in(rest());
  if (length < kAdded || length > kMostRecord + kAdded) return bad_record("length " + std::to_string(length));
  if (rest().size() < kLengthBytes + length) return std::nullopt;
  std::string plain(length - kAdded + 1, '\0');
  unsigned char tag = 0;
  if (::crypto_secretstream_xchacha20poly1305_pull(&state_, raw(plain), nullptr, &tag, raw(rest()) + kLengthBytes,
                                                   length, raw(rest()), kLengthBytes) != 0) {
    return bad_record("invalid seal: changed data, wrong order, or data of another connection");
  }
  take(kLengthBytes + length);
  ended_ = tag == crypto_secretstream_xchacha20poly1305_TAG_FINAL;
  const auto kind = static_cast<std::uint8_t>(plain[0]);
  if (kind < static_cast<std::uint8_t>(SealedRecord::Kind::statement) ||
      kind > static_cast<std::uint8_t>(SealedRecord::Kind::outcome)) {
    return bad_record("kind " + std::to_string(kind));
  }
  return SealedRecord{static_cast<SealedRecord::Kind>(kind), plain.substr(1)};
}

}  // namespace dlaunch::dialback
