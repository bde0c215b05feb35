#include "transport/remote_command.h"

#include "base/text.h"

namespace dlaunch::transport {
namespace {

constexpr int kConnectTimeout = 10;  // seconds, for TCP and the ssh handshake

std::string_view strictness(HostKey host_key) {
  switch (host_key) {
    case HostKey::strict:
      return "yes";
    case HostKey::accept_new:
      return "accept-new";
    case HostKey::off:
      return "no";
  }
  return "yes";
}

/// ssh expands a leading ~ in its option, the shell must not.
void add(std::string& line, std::string_view option, std::string_view value) {
  line += ' ';
  line += option;
  line += ' ';
  line += shell_quote(value);
}

}  // namespace

std::string ssh_command(const plan::Host& host, HostKey host_key) {
  std::string line = "ssh -T -o BatchMode=yes -o ConnectTimeout=" + std::to_string(kConnectTimeout) +
                     " -o StrictHostKeyChecking=" + std::string(strictness(host_key));
  if (host.reach.port) add(line, "-p", std::to_string(*host.reach.port));
  if (!host.reach.user.empty()) add(line, "-l", host.reach.user);
  if (!host.reach.identity.empty()) add(line, "-o", "IdentityFile=" + host.reach.identity);
  if (!host.reach.jump.empty()) add(line, "-J", host.reach.jump);
  add(line, "--", host.name);
  return line;
}

std::string exec_command(std::string_view line, const plan::Host& host) {
  constexpr std::string_view kHost = "{host}";
  const std::string name = shell_quote(host.name);
  std::string text(line);
  for (size_t at = text.find(kHost); at != std::string::npos; at = text.find(kHost, at + name.size())) {
    text.replace(at, kHost.size(), name);
  }
  return text;
}

}  // namespace dlaunch::transport
