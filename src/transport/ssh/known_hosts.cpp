#include "transport/ssh/known_hosts.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "transport/ssh/config_file.h"
#include "transport/ssh/identity.h"

namespace dlaunch::transport::ssh {
namespace {

constexpr std::string_view kHashed = "|1|";

std::string_view next_word(std::string_view& text) {
  const size_t from = std::min(text.find_first_not_of(" \t"), text.size());
  const size_t to = std::min(text.find_first_of(" \t", from), text.size());
  const std::string_view word = text.substr(from, to - from);
  text.remove_prefix(to);
  return word;
}

constexpr std::string_view kUsualAlgorithms =
    "ssh-ed25519,ecdsa-sha2-nistp521,ecdsa-sha2-nistp384,ecdsa-sha2-nistp256,rsa-sha2-512,rsa-sha2-256";

/// The type of the signing key of this algorithm.
std::string_view type_of(std::string_view algorithm) { return algorithm.starts_with("rsa-") ? "ssh-rsa" : algorithm; }

bool has_type(const std::vector<KnownKey>& keys, std::string_view type) {
  return std::any_of(keys.begin(), keys.end(), [&](const KnownKey& key) { return key.type == type; });
}

std::string hashed(std::string_view name, std::string_view salt) {
  return std::string(kHashed) + to_base64(salt) + '|' + to_base64(bytes_of(HmacSha1(salt).of(name)));
}

}  // namespace

KnownName known_name(std::string_view host, int port, std::string_view alias) {
  if (!alias.empty()) return {.name = to_lower(alias), .bare = ""};
  std::string name = to_lower(host);
  if (port == 22) return {.name = std::move(name), .bare = ""};
  return {.name = "[" + name + "]:" + std::to_string(port), .bare = name};
}

void KnownHosts::add_file(const std::string& path, std::string_view text) {
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    add_line(path, number, trim(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

/// Ignores malformed lines, like OpenSSH.
void KnownHosts::add_line(const std::string& path, int number, std::string_view text) {
  if (text.empty() || text.front() == '#') return;
  Line line;
  std::string_view names = next_word(text);
  if (names.starts_with('@')) {
    if (names != "@revoked" && names != "@cert-authority") return;
    line.mark = names == "@revoked" ? Mark::revoked : Mark::authority;
    names = next_word(text);
  }
  const std::string_view type = next_word(text);
  const std::string_view key = next_word(text);
  if (key.empty() || !from_base64(key)) return;
  line.key = {std::string(type), std::string(key), path, number};
  const size_t index = lines_.size();
  if (names.starts_with(kHashed)) {
    const auto parts = split(names, '|');
    const auto salt = from_base64(parts.size() == 4 ? parts[2] : "");
    const auto hash = from_base64(parts.size() == 4 ? parts[3] : "");
    if (!salt || !hash || hash->size() != line.hash.size()) return;
    line.salted.emplace(*salt);
    std::copy(hash->begin(), hash->end(), line.hash.begin());
    to_try_.push_back(index);
  } else if (names.find_first_of("*?!") != std::string_view::npos) {
    line.patterns = split(to_lower(names), ',');
    to_try_.push_back(index);
  } else {
    for (std::string& name : split(to_lower(names), ',')) by_name_[std::move(name)].push_back(index);
  }
  lines_.push_back(std::move(line));
}

bool KnownHosts::matches(const Line& line, std::string_view name) {
  if (line.salted) return line.salted->of(name) == line.hash;
  return matches_patterns(name, line.patterns);
}

KnownHosts::Found KnownHosts::find(std::string_view name) const {
  std::vector<size_t> indices;
  if (const auto at = by_name_.find(std::string(name)); at != by_name_.end()) indices = at->second;
  std::copy_if(to_try_.begin(), to_try_.end(), std::back_inserter(indices),
               [&](size_t index) { return matches(lines_[index], name); });
  std::sort(indices.begin(), indices.end());
  Found found;
  for (const size_t index : indices) {
    const Line& line = lines_[index];
    if (line.mark == Mark::none) found.keys.push_back(line.key);
    if (line.mark == Mark::revoked) found.revoked.push_back(line.key);
    if (line.mark == Mark::authority) found.authority = true;
  }
  return found;
}

KnownHost find_host(const KnownHosts& known, const KnownName& name) {
  return {name, known.find(name.name), name.bare.empty() ? KnownHosts::Found{} : known.find(name.bare)};
}

KeyVerdict verdict_on(const KnownHost& host, std::string_view type, std::string_view key) {
  using Kind = KeyVerdict::Kind;
  const auto same = [&](const KnownKey& line) { return line.key == key; };
  const auto find_same = [&](const std::vector<KnownKey>& keys) {
    return std::find_if(keys.begin(), keys.end(), same);
  };
  for (const auto* keys : {&host.named.revoked, &host.bare.revoked}) {
    if (const auto line = find_same(*keys); line != keys->end()) return {Kind::revoked, *line};
  }
  for (const auto* keys : {&host.named.keys, &host.bare.keys}) {
    if (const auto line = find_same(*keys); line != keys->end()) return {Kind::known, *line};
  }
  // A key of another type does not make the host unknown: an attacker could offer a type missing in the files.
  if (!host.named.keys.empty()) {
    const auto line = std::find_if(host.named.keys.begin(), host.named.keys.end(),
                                   [&](const KnownKey& known) { return known.type == type; });
    return {Kind::changed, line == host.named.keys.end() ? host.named.keys.front() : *line};
  }
  return {host.named.authority ? Kind::authority_only : Kind::unknown, {}};
}

std::string preferred_algorithms(const KnownHost& host, std::string_view allowed) {
  const std::vector<KnownKey>& keys = host.named.keys.empty() ? host.bare.keys : host.named.keys;
  std::vector<std::string> list = split(allowed.empty() ? kUsualAlgorithms : allowed, ',');
  std::stable_partition(list.begin(), list.end(),
                        [&](const std::string& algorithm) { return has_type(keys, type_of(algorithm)); });
  std::string text;
  for (const std::string& algorithm : list) text += (text.empty() ? "" : ",") + algorithm;
  return text;
}

std::string known_hosts_line(const KnownName& name, std::string_view type, std::string_view key,
                             std::string_view salt) {
  return (salt.empty() ? name.name : hashed(name.name, salt)) + ' ' + std::string(type) + ' ' + std::string(key) + '\n';
}

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
