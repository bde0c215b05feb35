#include "transport/ssh/identity.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/digest.h"
#include "base/text.h"

namespace dlaunch::transport::ssh {
namespace {

std::uint32_t big_endian(const unsigned char* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
}

std::string big_endian(std::uint32_t number) {
  std::string bytes;
  for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(number >> shift & 0xff);
  return bytes;
}

}  // namespace

std::string packed(std::string_view bytes) {
  return big_endian(static_cast<std::uint32_t>(bytes.size())).append(bytes);
}

std::string packed_number(std::uint32_t number) { return big_endian(number); }

std::optional<std::uint32_t> unpack_number(std::string_view& bytes) {
  if (bytes.size() < 4) return std::nullopt;
  const std::uint32_t number = big_endian(reinterpret_cast<const unsigned char*>(bytes.data()));
  bytes.remove_prefix(4);
  return number;
}

std::optional<std::string_view> unpack(std::string_view& bytes) {
  std::string_view rest = bytes;
  const auto size = unpack_number(rest);
  if (!size || *size > rest.size()) return std::nullopt;
  bytes = rest.substr(*size);
  return rest.substr(0, *size);
}

namespace {

using std::string;
using std::string_view;

/// libssh stops reading an agent's keys at the first unknown type.
constexpr string_view kKnownTypes[] = {"ssh-ed25519",
                                       "ssh-rsa",
                                       "ecdsa-sha2-nistp256",
                                       "ecdsa-sha2-nistp384",
                                       "ecdsa-sha2-nistp521",
                                       "sk-ssh-ed25519@openssh.com",
                                       "sk-ecdsa-sha2-nistp256@openssh.com",
                                       "ssh-ed25519-cert-v01@openssh.com",
                                       "ssh-rsa-cert-v01@openssh.com",
                                       "ecdsa-sha2-nistp256-cert-v01@openssh.com",
                                       "ecdsa-sha2-nistp384-cert-v01@openssh.com",
                                       "ecdsa-sha2-nistp521-cert-v01@openssh.com",
                                       "sk-ssh-ed25519-cert-v01@openssh.com",
                                       "sk-ecdsa-sha2-nistp256-cert-v01@openssh.com"};

bool is_known(string_view blob) {
  const auto type = unpack(blob);
  return type && std::ranges::find(kKnownTypes, *type) != std::end(kKnownTypes);
}

}  // namespace

std::vector<AgentKey> parse_keys(string_view answer) {
  std::vector<AgentKey> keys;
  if (!answer.starts_with(kIdentitiesAnswer)) return keys;
  answer.remove_prefix(1);
  (void)unpack_number(answer);
  for (;;) {
    const auto blob = unpack(answer);
    const auto comment = unpack(answer);
    if (!blob || !comment) return keys;
    if (is_known(*blob)) keys.push_back({string(*blob), string(*comment)});
  }
}

string answer_with(std::span<const AgentKey> keys) {
  string answer = string(1, kIdentitiesAnswer) + packed_number(static_cast<std::uint32_t>(keys.size()));
  for (const AgentKey& key : keys) answer += packed(key.blob) + packed(key.comment);
  return answer;
}

std::span<const AgentKey> behind(std::span<const AgentKey> keys, string_view sign_request) {
  sign_request.remove_prefix(1);
  const auto blob = unpack(sign_request);
  const auto one = std::ranges::find_if(keys, [&](const AgentKey& key) { return key.blob == blob; });
  return one == keys.end() ? keys : keys.subspan(static_cast<size_t>(one - keys.begin()) + 1);
}

string with_signer(std::span<const AgentKey> keys, string_view sign_request) {
  string_view rest = sign_request.substr(1);
  const auto blob = unpack(rest);
  const auto one = std::ranges::find_if(keys, [&](const AgentKey& key) { return key.blob == blob; });
  if (one == keys.end() || one->signer.empty()) return string(sign_request);
  return string(1, kSignRequest) + packed(one->signer) + string(rest);
}

namespace {

constexpr std::string_view kBegin = "-----BEGIN OPENSSH PRIVATE KEY-----";
constexpr std::string_view kEnd = "-----END OPENSSH PRIVATE KEY-----";
constexpr std::string_view kMagic{"openssh-key-v1\0", 15};

/// The binary key of a line "ssh-ed25519 AAAA… comment".
std::string blob_of_line(std::string_view text) {
  const auto words = split(std::string(trim(text.substr(0, text.find('\n')))), ' ');
  return words.size() < 2 ? "" : from_base64(words[1]).value_or("");
}

/// OpenSSH's format contains the public key and the cipher unencrypted.
void read_openssh(Identity& identity) {
  const std::string_view text = identity.key;
  const size_t from = text.find(kBegin) + kBegin.size();
  std::string body;
  for (const char c : text.substr(from, text.find(kEnd) - from)) {
    if (c != '\n' && c != '\r' && c != ' ') body += c;
  }
  const std::string bytes = from_base64(body).value_or("");
  std::string_view rest = bytes;
  identity.kind = Identity::Kind::foreign;
  if (!rest.starts_with(kMagic)) return;
  rest.remove_prefix(kMagic.size());
  const auto cipher = unpack(rest);
  const auto derivation = unpack(rest);
  const auto parameters = unpack(rest);
  const auto keys = unpack_number(rest);
  const auto blob = unpack(rest);
  if (!cipher || !derivation || !parameters || !keys || !blob) return;
  identity.kind = *cipher == "none" ? Identity::Kind::usable : Identity::Kind::encrypted;
  identity.public_blob = *blob;
}

}  // namespace

Identity read_identity(std::string path, std::string text, std::string_view public_text) {
  Identity identity{.path = std::move(path), .key = std::move(text), .public_blob = blob_of_line(public_text)};
  if (identity.key.find(kBegin) != std::string::npos) {
    read_openssh(identity);
  } else if (identity.key.find("ENCRYPTED") != std::string::npos) {
    identity.kind = Identity::Kind::encrypted;
  } else if (identity.key.find(" PRIVATE KEY-----") == std::string::npos) {
    identity.kind = Identity::Kind::foreign;
    if (identity.public_blob.empty()) identity.public_blob = blob_of_line(identity.key);  // IdentityFile key.pub
  }
  return identity;
}

bool is_unprotected(const File& file, unsigned user_id) {
  constexpr unsigned kOfOthers = 077;
  return file.owner == user_id && (file.mode & kOfOthers) != 0;
}

namespace {

constexpr std::string_view kMark = "-cert-v01@openssh.com";

/// "ssh-ed25519" for "ssh-ed25519-cert-v01@openssh.com". In types with their own @, the @ follows the mark.
std::string_view plain_type(std::string_view type) {
  type.remove_suffix(kMark.size());
  return type;
}

}  // namespace

bool is_certificate_type(std::string_view type) { return type.ends_with(kMark); }

std::optional<Certificate> read_certificate(std::string path, std::string_view text) {
  const auto words = split(trim(text.substr(0, text.find('\n'))), ' ');
  if (words.size() < 2 || !is_certificate_type(words[0])) return std::nullopt;
  auto blob = from_base64(words[1]);
  std::string_view rest = blob ? *blob : std::string_view();
  if (unpack(rest) != words[0]) return std::nullopt;
  return Certificate{std::move(path), words[0], words[1], *std::move(blob)};
}

/// A key consists of its type and some fields. Its certificate consists of another type, a nonce, these fields, and
/// more.
bool certifies(std::string_view certificate, std::string_view key) {
  const auto type = unpack(certificate);
  const auto nonce = unpack(certificate);
  const auto key_type = unpack(key);
  if (!type || !nonce || !key_type || key.empty() || !is_certificate_type(*type)) return false;
  return key_type->starts_with(plain_type(*type)) && certificate.starts_with(key);
}

}  // namespace dlaunch::transport::ssh
