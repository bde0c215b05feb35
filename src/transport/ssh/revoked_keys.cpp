#include "transport/ssh/revoked_keys.h"

#include <algorithm>
#include <utility>

#include "base/digest.h"
#include "base/text.h"
#include "transport/ssh/encoding.h"
#include "transport/ssh/identity.h"

namespace dlaunch::transport::ssh {
namespace {

using std::string_view;

// PROTOCOL.krl
constexpr string_view kRevocationMagic{"SSHKRL\n\0", 8};
constexpr size_t kVersionToFlags = 4 + 8 + 8 + 8;
constexpr char kCertificates = 1;
constexpr char kKeys = 2;
constexpr char kSha1 = 3;
constexpr char kSha256 = 5;

string_view next_line(string_view& text) {
  const size_t end = std::min(text.find('\n'), text.size());
  const string_view line = trim(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

}  // namespace

RevokedKeys::RevokedKeys(string_view text) {
  if (text.starts_with(kRevocationMagic)) {
    read_revocation_list(text.substr(kRevocationMagic.size()));
  } else {
    read_list(text);
  }
}

std::shared_ptr<const RevokedKeys> RevokedKeys::unreadable() {
  auto none = std::make_shared<RevokedKeys>("");
  none->trouble_ = "cannot read the file";
  return none;
}

bool RevokedKeys::has(const std::string& key, string_view sha256) const {
  return keys_.contains(key) || hashes_.contains(sha256) || hashes_.contains(bytes_of(sha1(key))) ||
         std::ranges::any_of(certificates_, [&](const std::string& one) { return certifies(one, key); });
}

/// Stops at the first invalid line, like ssh.
void RevokedKeys::read_list(string_view text) {
  for (int number = 1; !text.empty(); ++number) {
    const string_view line = next_line(text);
    if (line.empty() || line.front() == '#') continue;
    const auto words = split(line, ' ');
    auto blob = from_base64(words.size() < 2 ? "" : words[1]);
    string_view rest = blob ? *blob : string_view();
    if (unpack(rest) != words[0]) {
      trouble_ = "line " + std::to_string(number) + ": invalid public key";
      return;
    }
    if (is_certificate_type(words[0])) {
      certificates_.push_back(*std::move(blob));
    } else {
      keys_.insert(*std::move(blob));
    }
  }
}

void RevokedKeys::read_revocation_list(string_view bytes) {
  trouble_ = "invalid key revocation list";
  const auto version = unpack_number(bytes);
  if (version != 1 || bytes.size() < kVersionToFlags - 4) return;
  bytes.remove_prefix(kVersionToFlags - 4);
  if (!unpack(bytes) || !unpack(bytes)) return;  // reserved field and comment
  while (!bytes.empty()) {
    const char type = bytes.front();
    bytes.remove_prefix(1);
    const auto section = unpack(bytes);
    if (!section || !read_section(type, *section)) return;
  }
  trouble_.clear();
}

bool RevokedKeys::read_section(char type, string_view bytes) {
  if (type == kCertificates) return true;  // certificates are irrelevant for plain keys
  if (type != kKeys && type != kSha1 && type != kSha256) {
    trouble_ = "not supported: a signature or unknown section in the key revocation list";
    return false;
  }
  while (!bytes.empty()) {
    const auto one = unpack(bytes);
    if (!one) return false;
    (type == kKeys ? keys_ : hashes_).emplace(*one);
  }
  return true;
}

}  // namespace dlaunch::transport::ssh
