#include "transport/remote_command.h"

#include "base/text.h"

namespace dlaunch::transport {

std::string exec_command(std::string_view line, const plan::Host& host) {
  constexpr std::string_view kHost = "{host}";
  const std::string name = shell_quote(host.name);
  std::string text(line);
  for (size_t at = text.find(kHost); at != std::string::npos; at = text.find(kHost, at + name.size())) {
    text.replace(at, kHost.size(), name);
  }
  return text;
}

std::string shell_there(std::string_view exec, const plan::Host& host) {
  if (host.local) return "sh";
  if (!exec.empty()) return exec_command(exec, host) + " sh";
  std::string line = "ssh";
  if (host.reach.port) line += " -p " + std::to_string(*host.reach.port);
  if (!host.reach.identity.empty()) line += " -i " + shell_quote(host.reach.identity);
  if (!host.reach.jump.empty()) line += " -J " + shell_quote(host.reach.jump);
  if (!host.reach.user.empty()) line += " -l " + shell_quote(host.reach.user);
  return line + ' ' + shell_quote(host.name) + " sh";
}

}  // namespace dlaunch::transport
