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

}  // namespace dlaunch::transport
