// Reads any bytes as the handshake of an unauthenticated peer with a listening launcher or a connected node, as sealed
// records, and as the statement of a node with the key. A peer without the key must never be proven, and the result
// must not depend on the pieces in which the bytes arrive. The first byte of the input chooses the kind, the second the
// size of the pieces.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "dialback/handshake.h"
#include "dialback/sealed_records.h"
#include "dialback/statement.h"

namespace {

using namespace dlaunch;
using dialback::HandshakeState;

void require(bool holds) {
  if (!holds) std::abort();
}

const dialback::Secret& job_key() {
  static const dialback::Secret key = dialback::job_key("a key that no input has").value();
  return key;
}

/// Whether a side accepts all bytes, in pieces of at most `piece` bytes.
template <class Side>
bool takes(Side side, std::string_view bytes, size_t piece) {
  while (!bytes.empty()) {
    const size_t most = std::min({piece, bytes.size(), side.wanted()});
    require(most > 0);
    const HandshakeState progress = side.feed(bytes.substr(0, most));
    require(progress != HandshakeState::proven);
    if (progress == HandshakeState::refused) return false;
    bytes.remove_prefix(most);
  }
  return true;
}

template <class Side>
void both_ways(std::string_view bytes) {
  require(takes(Side(job_key(), {}), bytes, 1) == takes(Side(job_key(), {}), bytes, bytes.size()));
}

std::string open_all(std::string_view bytes, size_t piece) {
  dialback::Opener opener(job_key());
  std::string got;
  while (!bytes.empty()) {
    opener.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (;;) {
      auto record = opener.next();
      if (!record) return got + "error";
      if (!*record) break;
      got += (*record)->payload;
    }
    require(opener.held() <= dialback::kMostRecord + piece + 64);
  }
  return got;
}

void state(std::string_view payload) {
  const std::string reason = dialback::data_end_in(payload).reason;
  require(std::ranges::all_of(reason, [](char c) { return c == '\t' || static_cast<unsigned char>(c) >= ' '; }));
  const auto statement = dialback::statement_in(payload);
  if (!statement) return;
  const dialback::Statement launcher{"v", 3, 0, "n", {"true"}};
  const auto why = dialback::difference_from(launcher, *statement);
  require(!why || std::ranges::all_of(*why, [](char c) { return static_cast<unsigned char>(c) >= ' '; }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
  switch (data[0] % 4) {
    case 0:
      both_ways<dialback::HandshakeServer>(bytes);
      break;
    case 1:
      both_ways<dialback::HandshakeClient>(bytes);
      break;
    case 2:
      require(open_all(bytes, 1u + data[1]) == open_all(bytes, bytes.size()));
      break;
    default:
      state(bytes);
  }
  return 0;
}
