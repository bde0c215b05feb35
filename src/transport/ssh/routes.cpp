#include "transport/ssh/routes.h"

#include <utility>

#include "base/text.h"
#include "transport/ssh/config_file.h"

namespace dlaunch::transport::ssh {
namespace {

using std::string;

Said said_of(const plan::Reach& reach, const string& home) {
  return {reach.user, reach.port, expand_home(reach.identity, home), reach.jump};
}

const char* strictness(HostKey host_key) {
  switch (host_key) {
    case HostKey::accept_new:
      return "accept-new";
    case HostKey::off:
      return "no";
    default:
      return "yes";
  }
}

}  // namespace

Routes::Routes(Surroundings surroundings, std::optional<HostKey> host_key, std::function<void(const string&)> note)
    : surroundings_(std::move(surroundings)), host_key_(host_key), note_(std::move(note)) {}

Result<void> Routes::read_config() {
  if (config_) return {};
  auto config = Config::read(Config::usual_paths(surroundings_), surroundings_);
  if (!config) return fail(config.error());
  config_ = *std::move(config);
  return {};
}

Result<Route> Routes::to(const plan::Host& host) {
  if (auto ok = read_config(); !ok) return fail(ok.error());
  const auto config = config_->resolve(host.name, said_of(host.reach, surroundings_.home), surroundings_);
  if (!config) return fail(config.error());
  for (const string& note : config->notes) {
    if (noted_.insert(note).second && note_) note_(note);
  }
  Route route;
  route.host = host.name;
  route.target = {config->host_name, config->port, config->family};
  route.user = config->user;
  route.host_key = host_key_.value_or(config->host_key.value_or(HostKey::strict));
  route.proxy_command = config->proxy_jump.empty() ? config->proxy_command : jump_command(*config, route.host_key);
  std::vector<string> files = config->user_known_hosts;
  if (!files.empty()) route.known_hosts_file = files.front();
  files.insert(files.end(), config->global_known_hosts.begin(), config->global_known_hosts.end());
  route.known = find_host(*known_hosts(files), known_name(config->host_name, config->port, config->host_key_alias));
  if (config->connect_timeout) route.limit = std::chrono::seconds(*config->connect_timeout);
  add_identities(route, *config);
  return route;
}

std::shared_ptr<const KnownHosts> Routes::known_hosts(const std::vector<string>& files) {
  auto& known = known_hosts_[files];
  if (known) return known;
  auto read = std::make_shared<KnownHosts>();
  for (const string& file : files) {
    if (const auto text = surroundings_.read_file(file)) read->add_file(file, *text);
  }
  known = std::move(read);
  return known;
}

std::shared_ptr<const Identity> Routes::identity(const string& path) {
  const auto [at, fresh] = identities_.try_emplace(path);
  if (!fresh) return at->second;
  auto text = surroundings_.read_file(path);
  const auto public_text = surroundings_.read_file(path + ".pub");
  if (!text && !public_text) return nullptr;
  at->second = std::make_shared<Identity>(read_identity(path, std::move(text).value_or(""), public_text.value_or("")));
  return at->second;
}

void Routes::add_identities(Route& route, const HostConfig& config) {
  for (const string& path : config.identity_files) {
    if (const auto found = identity(path)) {
      route.identities.push_back(found);
    } else if (config.identity_files_named) {
      route.missing_identities.push_back(path);
    }
  }
}

/// As ssh itself goes through other hosts: its client does so one hop after the other, and never asks.
string Routes::jump_command(const HostConfig& config, HostKey host_key) const {
  string hops = config.proxy_jump;
  const size_t comma = hops.rfind(',');
  string last = comma == string::npos ? hops : hops.substr(comma + 1);
  string command = "ssh -o BatchMode=yes -o StrictHostKeyChecking=" + string(strictness(host_key));
  if (comma != string::npos) command += " -J " + shell_quote(hops.substr(0, comma));
  const string to = "[" + config.host_name + "]:" + std::to_string(config.port);
  if (!last.starts_with("ssh://")) last.insert(0, "ssh://");
  return command + " -W " + shell_quote(to) + " -- " + shell_quote(last);
}

}  // namespace dlaunch::transport::ssh
