#include "transport/ssh/openssh.h"

#include "base/text.h"
#include "sys/installed.h"
#include "transport/ask_command.h"

namespace dlaunch::transport::ssh {
namespace {

constexpr const char* kInEveryAnswer = "hostname ";  // part of every answer

std::string question(const std::string& host, const HostOverrides& overrides) {
  std::string line = "ssh -G";
  if (!overrides.user.empty()) line += " -l " + shell_quote(overrides.user);
  if (overrides.port) line += " -p " + std::to_string(*overrides.port);
  return line + " -- " + shell_quote(host);
}

bool is_answer(const std::string& text) {
  return text.starts_with(kInEveryAnswer) || text.find(std::string("\n") + kInEveryAnswer) != std::string::npos;
}

}  // namespace

OpenSshAnswer ask_openssh(const std::string& host, const HostOverrides& overrides, const SshContext& context,
                          std::chrono::milliseconds limit, int ended) {
  if (!sys::is_in_path("ssh", context.variable("PATH").value_or("/usr/bin:/bin")))
    return {.installed = false, .text = {}, .trouble = {}};
  const CommandAnswer answer = ask_command(question(host, overrides), limit, ended);
  if (is_answer(answer.text)) return {.text = answer.text, .trouble = {}};
  return {.text = {}, .trouble = answer.trouble};
}

}  // namespace dlaunch::transport::ssh
