// Reads any bytes as an ssh-agent's list of keys, and as a sign request. The list must stay the same if written and
// read again. A request must stay the same if no certificate replaces its key, and grow at most by the size of this
// key.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "transport/ssh/identity.h"

namespace {

using namespace dlaunch::transport::ssh;

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::vector<AgentKey> keys = parse_keys(bytes);
  for (const AgentKey& key : keys) require(!key.blob.empty() && key.blob.size() < size && key.comment.size() < size);
  require(parse_keys(answer_with(keys)) == keys);
  require(behind(keys, bytes).size() <= keys.size() && with_signer(keys, bytes) == bytes);
  std::vector<AgentKey> certified = keys;
  for (AgentKey& key : certified) key.signer = "signer";
  require(with_signer(certified, bytes).size() <= size + packed("signer").size());
  return 0;
}
