#include "transport/ssh/encoding.h"

#include <algorithm>
#include <iterator>

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

}  // namespace dlaunch::transport::ssh
