// Reads any bytes as what an agent that dials back finds on its stdin: a script, noise, and a launcher's call. The
// reader takes the first call or refuses it, whatever stands before, and its result does not depend on where the bytes
// are cut, which the first byte of the input says. A call that was read is the same when it is written and read again.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "dialback/call.h"

namespace {

using namespace dlaunch;
using dialback::Call;

constexpr std::string_view kNonce = "abc";

void require(bool holds) {
  if (!holds) std::abort();
}

struct Heard {
  std::optional<Call> call;
  bool broken = false;
};

Heard hear(std::string_view bytes, size_t piece) {
  dialback::CallReader reader(kNonce);
  Heard heard;
  while (!heard.call && !reader.broken() && !bytes.empty()) {
    heard.call = reader.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  heard.broken = reader.broken();
  return heard;
}

bool same(const Heard& one, const Heard& other) {
  if (one.broken != other.broken || one.call.has_value() != other.call.has_value()) return false;
  return !one.call || (one.call->at == other.call->at && one.call->key == other.call->key);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Heard whole = hear(bytes, bytes.size());
  require(same(hear(bytes, 1u + data[0]), whole) && same(hear(bytes, 1), whole));
  require(!whole.broken || !whole.call);
  if (!whole.call) return 0;
  require(!whole.call->at.host.empty() && whole.call->at.port > 0 && whole.call->key.size() <= dialback::kMostCall);
  const std::string again = call_line(*whole.call, kNonce);
  if (to_string(whole.call->at).size() + 1 + whole.call->key.size() > dialback::kMostCall) return 0;
  require(same(hear(again, again.size()), whole));
  return 0;
}
