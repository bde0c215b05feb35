#include "transport/ssh/proxy.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"
#include "transport/reason_lines.h"

namespace dlaunch::transport::ssh {
namespace {

using std::string;
using Retry = Disconnect::Retry;

constexpr size_t kShownLines = 2;

const char* strictness(plan::HostKey host_key) {
  switch (host_key) {
    case plan::HostKey::accept_new:
      return "accept-new";
    case plan::HostKey::off:
      return "no";
    case plan::HostKey::strict:
      break;
  }
  return "yes";
}

/// Errors for which a new attempt is useless.
constexpr const char* kFinal[] = {"Permission denied", "verification failed", "not found", "Bad configuration",
                                  "administratively prohibited"};

Retry retry_after(const string& words) {
  const auto in_words = [&](const char* part) { return words.find(part) != string::npos; };
  if (std::ranges::any_of(kFinal, in_words)) return Retry::never;
  return is_dropped_login(words) ? Retry::soon : Retry::when_up;
}

}  // namespace

string jump_command(const HostConfig& config, plan::HostKey host_key) {
  const string& hops = config.proxy_jump;
  const size_t comma = hops.rfind(',');
  string last = comma == string::npos ? hops : hops.substr(comma + 1);
  if (!last.starts_with("ssh://")) last.insert(0, "ssh://");
  string command = string("ssh -o BatchMode=yes -o StrictHostKeyChecking=") + strictness(host_key);
  if (config.connect_timeout) command += " -o ConnectTimeout=" + std::to_string(*config.connect_timeout);
  if (comma != string::npos) command += " -J " + shell_quote(hops.substr(0, comma));
  command += " -W " + shell_quote("[" + config.host_name + "]:" + std::to_string(config.port));
  return command + " -- " + shell_quote(last);
}

string last_lines(std::string_view output) {
  std::vector<string> lines;
  for (const string& line : split(output, '\n')) {
    if (const auto text = trim(line); !text.empty()) lines.emplace_back(text);
  }
  string words;
  for (size_t i = lines.size() - std::min(lines.size(), kShownLines); i < lines.size(); ++i) {
    words += (words.empty() ? "" : "; ") + lines[i];
  }
  return words;
}

Disconnect blame_command(Disconnect end, std::string_view output) {
  string words = last_lines(output);
  if (words.empty()) return end;
  const Retry retry = retry_after(words);
  return {.what = "cannot connect through the jump host or proxy command",
          .why = std::move(words),
          .hint = "",
          .retry = retry};
}

}  // namespace dlaunch::transport::ssh
