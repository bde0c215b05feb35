// Decodes any bytes of a link. The result must be messages or an Error, and must not depend on the pieces in which the
// bytes arrive. The first byte of the input chooses the size of the pieces. Messages, encoded and decoded again, must
// be the same.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "wire/codec.h"

namespace {

using namespace dlaunch;

struct Decoded {
  std::vector<wire::Message> messages;
  bool failed = false;
  bool operator==(const Decoded&) const = default;
};

void require(bool holds) {
  if (!holds) std::abort();
}

void drain(wire::Decoder& decoder, Decoded& decoded) {
  while (!decoded.failed) {
    auto message = decoder.next();
    decoded.failed = !message;
    if (!message || !*message) return;
    decoded.messages.push_back(**std::move(message));
  }
}

Decoded decode(std::string_view bytes, size_t piece) {
  wire::Decoder decoder;
  Decoded decoded;
  while (!bytes.empty() && !decoded.failed) {
    decoder.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    drain(decoder, decoded);
  }
  return decoded;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Decoded whole = decode(bytes, bytes.size());
  require(decode(bytes, 1u + data[0]) == whole);
  std::string again;
  for (const wire::Message& message : whole.messages) wire::encode(message, again);
  const Decoded twice = decode(again, again.size() + 1);
  require(!twice.failed && twice.messages == whole.messages);
  return 0;
}
