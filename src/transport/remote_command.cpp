#include "transport/remote_command.h"

#include "base/text.h"

namespace dlaunch::transport {

namespace {

void replace_all(std::string& text, std::string_view word, const std::string& by) {
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + by.size())) {
    text.replace(at, word.size(), by);
  }
}

}  // namespace

std::string exec_command(std::string_view line, const plan::Host& host) {
  std::string text(line);
  if (!host.reach.step.empty()) replace_all(text, "{step}", host.reach.step);
  replace_all(text, "{host}", shell_quote(host.name));
  return text;
}

std::string group_command(std::string_view line, const std::vector<plan::Host>& hosts) {
  std::string names;
  std::string steps;
  for (const plan::Host& host : hosts) {
    const char* const comma = names.empty() ? "" : ",";
    names += comma + host.name;
    steps += comma + host.reach.step;
  }
  std::string text(line);
  if (text.find("{hosts}") != text.npos) replace_all(text, "{step}", hosts.front().reach.step);
  replace_all(text, "{count}", std::to_string(hosts.size()));
  replace_all(text, "{hosts}", shell_quote(names));
  replace_all(text, "{steps}", shell_quote(steps));
  return text;
}

std::string shell_there(std::string_view exec, const plan::Host& host) {
  if (host.local) return "sh";
  if (host.reach.node) return "sh  # on " + shell_quote(host.name);
  if (!exec.empty()) return exec_command(exec, host) + " sh";
  std::string line = "ssh";
  if (host.reach.port) line += " -p " + std::to_string(*host.reach.port);
  if (!host.reach.identity.empty()) line += " -i " + shell_quote(host.reach.identity);
  if (!host.reach.jump.empty()) line += " -J " + shell_quote(host.reach.jump);
  if (!host.reach.user.empty()) line += " -l " + shell_quote(host.reach.user);
  return line + ' ' + shell_quote(host.name) + " sh";
}

}  // namespace dlaunch::transport
