#include "transport/ssh/algorithms.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "transport/ssh/config_file.h"

namespace dlaunch::transport::ssh {
namespace {

using std::string;
using std::string_view;
using Names = std::vector<string>;

/// The algorithms of libssh 0.10: the defaults, best first, and all others.
struct Had {
  string_view usual;
  string_view others;
};

constexpr string_view kPlainKeys =
    "ssh-ed25519,ecdsa-sha2-nistp521,ecdsa-sha2-nistp384,ecdsa-sha2-nistp256,sk-ssh-ed25519@openssh.com,"
    "sk-ecdsa-sha2-nistp256@openssh.com,rsa-sha2-512,rsa-sha2-256";

constexpr string_view kUserKeys =
    "ssh-ed25519-cert-v01@openssh.com,ecdsa-sha2-nistp521-cert-v01@openssh.com,"
    "ecdsa-sha2-nistp384-cert-v01@openssh.com,ecdsa-sha2-nistp256-cert-v01@openssh.com,"
    "sk-ecdsa-sha2-nistp256-cert-v01@openssh.com,sk-ssh-ed25519-cert-v01@openssh.com,"
    "rsa-sha2-512-cert-v01@openssh.com,rsa-sha2-256-cert-v01@openssh.com,"
    "ssh-ed25519,ecdsa-sha2-nistp521,ecdsa-sha2-nistp384,ecdsa-sha2-nistp256,sk-ssh-ed25519@openssh.com,"
    "sk-ecdsa-sha2-nistp256@openssh.com,rsa-sha2-512,rsa-sha2-256";

constexpr Had had(AlgorithmKind kind) {
  switch (kind) {
    case AlgorithmKind::ciphers:
      return {
          "chacha20-poly1305@openssh.com,aes256-gcm@openssh.com,aes128-gcm@openssh.com,aes256-ctr,aes192-ctr,"
          "aes128-ctr",
          "aes256-cbc,aes192-cbc,aes128-cbc,3des-cbc"};
    case AlgorithmKind::macs:
      return {"hmac-sha2-256-etm@openssh.com,hmac-sha2-512-etm@openssh.com,hmac-sha2-256,hmac-sha2-512",
              "hmac-sha1-etm@openssh.com,hmac-sha1"};
    case AlgorithmKind::key_exchange:
      return {
          "curve25519-sha256,curve25519-sha256@libssh.org,ecdh-sha2-nistp256,ecdh-sha2-nistp384,ecdh-sha2-nistp521,"
          "diffie-hellman-group18-sha512,diffie-hellman-group16-sha512,diffie-hellman-group-exchange-sha256,"
          "diffie-hellman-group14-sha256",
          "diffie-hellman-group-exchange-sha1,diffie-hellman-group14-sha1,diffie-hellman-group1-sha1"};
    case AlgorithmKind::host_keys:
      return {kPlainKeys, "ssh-rsa"};
    case AlgorithmKind::public_keys:
      return {kUserKeys, "ssh-rsa-cert-v01@openssh.com,ssh-rsa"};
  }
  return {};
}

void add_those_of(Names& list, const Names& names, string_view pattern) {
  for (const string& name : names) {
    if (matches_pattern(name, pattern) && std::ranges::find(list, name) == list.end()) list.push_back(name);
  }
}

}  // namespace

Result<string> allowed_algorithms(AlgorithmKind kind, string_view value) {
  const Names usual = split(had(kind).usual, ',');
  Names all = usual;
  for (string& name : split(had(kind).others, ',')) all.push_back(std::move(name));
  const char sign = value.empty() ? '\0' : value.front();
  const bool relative = sign == '+' || sign == '-' || sign == '^';
  const Names patterns = split(relative ? value.substr(1) : value, ',');
  Names list;
  if (sign == '-') {
    std::ranges::copy_if(usual, std::back_inserter(list), [&](const string& name) {
      return std::ranges::none_of(patterns, [&](const string& pattern) { return matches_pattern(name, pattern); });
    });
  } else {
    if (sign == '+') list = usual;
    for (const string& pattern : patterns) add_those_of(list, all, pattern);
    if (sign == '^') add_those_of(list, usual, "*");
  }
  if (list.empty()) {
    return fail({"", "", "not supported by libssh: all configured algorithms",
                 "use OpenSSH's client: --exec 'ssh -T {host}'", kExitRefused});
  }
  string text;
  for (const string& name : list) text += (text.empty() ? "" : ",") + name;
  return text;
}

}  // namespace dlaunch::transport::ssh
