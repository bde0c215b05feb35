// Reads any bytes as the output of a host's shell. The bootstrap must keep little of the noise, request the agent at
// most once, and end with frames or a reason. The result must not depend on the chunk size, given by the first byte of
// the input.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "transport/bootstrap.h"

namespace {

using namespace dlaunch;
using Next = transport::Bootstrap::Next;

void require(bool holds) {
  if (!holds) std::abort();
}

struct Heard {
  Next last = Next::wait;
  int uploads = 0;
  std::string rest, why, noise;
  bool operator==(const Heard&) const = default;
};

Heard hear(std::string_view bytes, size_t piece) {
  transport::Bootstrap bootstrap("abc", {"x86_64"});
  Heard heard;
  while (heard.last == Next::wait && !bytes.empty()) {
    heard.last = bootstrap.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (; heard.last == Next::upload; heard.last = bootstrap.feed({})) ++heard.uploads;
    require(bootstrap.rest().size() <= transport::kMaxAnswer + piece + 64);
  }
  if (heard.last == Next::frames) heard.rest = bootstrap.rest() + std::string(bytes);
  heard.why = bootstrap.why();
  heard.noise = bootstrap.noise();
  return heard;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Heard whole = hear(bytes, bytes.size());
  require(hear(bytes, 1u + data[0]) == whole);
  require(whole.uploads <= 1 && whole.noise.size() <= transport::kKeptNoise);
  require((whole.last == Next::failed) == !whole.why.empty() || whole.last == Next::failed);
  require(bytes.ends_with(whole.rest));
  return 0;
}
