// Reads any bytes in the formats of host and user keys. base64 must stay the same if decoded and encoded. Strings must
// lie within their buffer. Only the kind of a private key's file is checked. A certificate must have a certificate's
// type. A list of revoked keys must be understood up to its end, or report a trouble.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/digest.h"
#include "transport/ssh/identity.h"
#include "transport/ssh/known_hosts.h"

namespace {

using namespace dlaunch::transport::ssh;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_strings(std::string_view bytes) {
  std::string again;
  std::string_view rest = bytes;
  while (const auto part = unpack(rest)) again += packed(*part);
  require(bytes.starts_with(again) && again.size() + rest.size() == bytes.size());
  while (const auto number = unpack_number(rest)) again += packed_number(*number);
  require(bytes.starts_with(again) && rest.size() < 4);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string text = dlaunch::to_base64(bytes);
  require(text.size() % 4 == 0 && dlaunch::from_base64(text) == bytes);
  if (const auto decoded = dlaunch::from_base64(bytes))
    require(dlaunch::from_base64(dlaunch::to_base64(*decoded)) == decoded);
  require(dlaunch::to_hex(dlaunch::bytes_of(dlaunch::sha1(bytes))).size() == 40);
  require(dlaunch::HmacSha1(bytes).of(text) == dlaunch::HmacSha1(bytes).of(text));
  check_strings(bytes);
  const Identity identity = read_identity("f", std::string(bytes), bytes);
  require(identity.path == "f" && identity.key == bytes);
  const std::string inside = "-----BEGIN OPENSSH PRIVATE KEY-----\n" + text + "\n-----END OPENSSH PRIVATE KEY-----\n";
  require(read_identity("f", inside, "").public_blob.size() <= size);
  if (const auto certificate = read_certificate("f", bytes)) {
    require(is_certificate_type(certificate->type) && dlaunch::to_base64(certificate->blob).size() <= size + 3);
    (void)certifies(certificate->blob, bytes);
  }
  (void)certifies(bytes, bytes);
  (void)RevokedKeys(bytes).has(std::string(bytes), text);
  return 0;
}
