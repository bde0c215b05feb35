// Reads any files as the user's ssh configuration. The result must satisfy the header's promises for each host, or be
// an Error with a file and line.
//
// The input is the text of ~/.ssh/config. A line with a leading '%' names another file; its text follows.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "transport/ssh/config.h"
#include "transport/ssh/config_file.h"

namespace {

using namespace dlaunch;
using namespace dlaunch::transport;

constexpr unsigned kUser = 1000;

void require(bool holds) {
  if (!holds) std::abort();
}

std::map<std::string, std::string> read_input(std::string_view text) {
  std::map<std::string, std::string> files;
  std::string name = "/home/u/.ssh/config";
  for (std::string& line : split(text, '\n')) {
    if (line.starts_with('%')) {
      name = "/home/u/.ssh/" + line.substr(1);
    } else {
      files[name] += line + '\n';
    }
  }
  return files;
}

ssh::SshContext context_of(const std::map<std::string, std::string>& files) {
  ssh::SshContext here;
  here.home = "/home/u";
  here.user = "u";
  here.host_name = "head.example.org";
  here.user_id = kUser;
  here.read_file = [&files](const std::string& path) -> std::optional<ssh::File> {
    const auto found = files.find(path);
    if (found == files.end()) return std::nullopt;
    return ssh::File{.text = found->second, .owner = kUser, .mode = path.ends_with('g') ? 0660u : 0600u};
  };
  here.glob = [&files](const std::string& pattern) {
    std::vector<std::string> paths;
    for (const auto& [path, text] : files) {
      if (ssh::matches_pattern(path, pattern)) paths.push_back(path);
    }
    return paths;
  };
  here.variable = [](const std::string& name) -> std::optional<std::string> {
    return name == "HOME" ? std::optional<std::string>("/home/u") : std::nullopt;
  };
  return here;
}

void check_error(const Error& error) {
  require(error.exit_code == kExitRefused && !error.where.empty() && !error.what.empty());
}

void check(const ssh::Config& config, const std::string& host, const ssh::HostOverrides& said,
           const ssh::SshContext& here) {
  const auto resolved = config.resolve(host, said, here);
  if (!resolved) return check_error(resolved.error());
  require(resolved->port > 0 && resolved->port < 65536 && !resolved->user.empty());
  require(said.port.value_or(resolved->port) == resolved->port && (said.user.empty() || said.user == resolved->user));
  require(!resolved->connect_timeout || *resolved->connect_timeout > 0);
  require(resolved->proxy_jump.empty() || resolved->proxy_command.empty() || said.jump.empty());
  require(!resolved->unread.refusal || !resolved->unread.what.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto files = read_input(text);
  const ssh::SshContext here = context_of(files);
  const auto config = ssh::Config::read(ssh::Config::usual_paths(here), here);
  if (!config) check_error(config.error());
  for (const char* host : {"node1", "node2.example.org", "::1"}) {
    if (config) {
      check(*config, host, {}, here);
      check(*config, host, {"me", 2222, "~/key", "gate"}, here);
    }
    check(ssh::Config::of_answer(text, false), host, {}, here);
  }
  return 0;
}
