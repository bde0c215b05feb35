#include "transport/ssh/certificate.h"

#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/text.h"
#include "transport/ssh/encoding.h"

namespace dlaunch::transport::ssh {
namespace {

constexpr std::string_view kMark = "-cert-v01@openssh.com";

/// "ssh-ed25519" of "ssh-ed25519-cert-v01@openssh.com"; those with an @ have it behind the mark alone.
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

/// A key is its type and some fields; its certificate another type, a nonce, these fields, and more.
bool certifies(std::string_view certificate, std::string_view key) {
  const auto type = unpack(certificate);
  const auto nonce = unpack(certificate);
  const auto key_type = unpack(key);
  if (!type || !nonce || !key_type || key.empty() || !is_certificate_type(*type)) return false;
  return key_type->starts_with(plain_type(*type)) && certificate.starts_with(key);
}

}  // namespace dlaunch::transport::ssh
