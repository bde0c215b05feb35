// Reads any bytes as the answers of three hosts' scripts on one stream, before their agents connect. A host without a
// line keeps its state. The result does not depend on the chunk size, given by the first byte of the input.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "dialback/answers.h"

namespace {

using namespace dlaunch;
using dialback::Answers;

const std::vector<std::string> kHosts{"n1", "n2", "n3"};

void require(bool holds) {
  if (!holds) std::abort();
}

Answers hear(std::string_view bytes, size_t piece) {
  Answers answers("abc", {"x86_64"}, kHosts);
  while (!bytes.empty()) {
    answers.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  return answers;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Answers whole = hear(bytes, bytes.size());
  const Answers cut = hear(bytes, 1u + data[0]);
  for (const std::string& host : kHosts) {
    require(whole.state(host) == cut.state(host) && whole.why(host) == cut.why(host));
    const bool named = bytes.find("dlaunch:abc " + host + ' ') != std::string_view::npos;
    require(named || whole.state(host) == Answers::State::silent);
    require(whole.why(host).size() <= transport::kMaxAnswer + 256 && whole.why(host).find('\n') == std::string::npos);
  }
  return 0;
}
