// Reads any bytes as the stdin of an agent that connects to its launcher: a script, noise, and the launcher's contact.
// The reader accepts or refuses the first contact, for any bytes before the contact. The result does not depend on the
// chunk size, given by the first byte of the input. A parsed contact stays the same if written and parsed again.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "dialback/job_key.h"

namespace {

using namespace dlaunch;
using dialback::LauncherContact;

constexpr std::string_view kNonce = "abc";

void require(bool holds) {
  if (!holds) std::abort();
}

struct Heard {
  std::optional<LauncherContact> contact;
  bool broken = false;
};

Heard hear(std::string_view bytes, size_t piece) {
  dialback::ContactReader reader(kNonce);
  Heard heard;
  while (!heard.contact && !reader.broken() && !bytes.empty()) {
    heard.contact = reader.feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
  }
  heard.broken = reader.broken();
  return heard;
}

bool same(const Heard& one, const Heard& other) {
  if (one.broken != other.broken || one.contact.has_value() != other.contact.has_value()) return false;
  return !one.contact || (one.contact->at == other.contact->at && one.contact->key == other.contact->key);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Heard whole = hear(bytes, bytes.size());
  require(same(hear(bytes, 1u + data[0]), whole) && same(hear(bytes, 1), whole));
  require(!whole.broken || !whole.contact);
  if (!whole.contact) return 0;
  require(!whole.contact->at.host.empty() && whole.contact->at.port > 0 &&
          whole.contact->key.size() <= dialback::kMostContact);
  const std::string again = contact_line(*whole.contact, kNonce);
  if (to_string(whole.contact->at).size() + 1 + whole.contact->key.size() > dialback::kMostContact) return 0;
  require(same(hear(again, again.size()), whole));
  return 0;
}
