// Reads any bytes as the list of keys of an ssh-agent, and as a request to sign. The list, written and read again, must
// be the same. A request must stay the same without a certificate, and grow at most by the key of the signer.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "transport/ssh/agent_protocol.h"
#include "transport/ssh/encoding.h"

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
