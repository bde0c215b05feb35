#include "transport/ssh/routes.h"

#include <fcntl.h>
#include <glob.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/environment.h"
#include "base/text.h"
#include "base/try.h"
#include "sys/files.h"
#include "sys/installed.h"
#include "transport/command.h"
#include "transport/reason_lines.h"
#include "transport/ssh/config_file.h"

namespace dlaunch::transport::ssh {
namespace {

using std::string;

constexpr int kAnswerSeconds = 10;  // equals the default limit of a connection

HostOverrides overrides_of(const plan::Reach& reach, const string& home) {
  return {reach.user, reach.port, expand_home(reach.identity, home), reach.jump};
}

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

constexpr std::size_t kLargestFile = 64u << 20;  // bytes; known_hosts of a large site has a few MiB

/// Opens the file first, like ssh: owner and mode belong to the file that is read.
std::optional<File> read_whole(const std::string& path) {
  const sys::Fd opened(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  if (!opened || ::fstat(opened.get(), &status) != 0) return std::nullopt;
  auto text = sys::read_file(opened, kLargestFile);
  if (!text) return std::nullopt;
  return File{*std::move(text), status.st_uid, status.st_mode & 07777};
}

std::vector<std::string> files_named(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return paths;
}

}  // namespace

Routes::Routes(SshContext context, std::optional<plan::HostKey> host_key, std::shared_ptr<Notes> notes,
               std::shared_ptr<Watchdog> watchdog)
    : context_(std::move(context)), host_key_(host_key), notes_(std::move(notes)), watchdog_(std::move(watchdog)) {}

Result<std::shared_ptr<const Config>> Routes::config() {
  const std::lock_guard lock(mutex_);
  if (config_) return config_;
  auto config = TRY(Config::read(Config::usual_paths(context_), context_));
  config_ = std::make_shared<Config>(std::move(config));
  return config_;
}

Result<HostConfig> Routes::settle(const plan::Host& host) {
  const auto read = TRY(config());
  const HostOverrides overrides = overrides_of(host.reach, context_.home);
  auto resolved = (read)->resolve(host.name, overrides, context_);
  if (!resolved || resolved->unread.what.empty()) return resolved;
  return settle_with_openssh(host.name, overrides, *std::move(resolved));
}

Result<HostConfig> Routes::settle_with_openssh(const string& host, const HostOverrides& overrides, HostConfig config) {
  const OpenSshAnswer answer = ask(host, overrides, config).get();
  if (answer.installed && answer.text.empty()) {
    return fail({"ssh -G " + host, "OpenSSH's client refuses the configuration", answer.trouble, "", kExitRefused});
  }
  if (answer.installed) {
    return Config::of_answer(answer.text, config.unread.shared.has_value()).resolve(host, overrides, context_);
  }
  if (config.unread.refusal) return fail(*config.unread.refusal);
  for (const string& line : config.unread.what) {
    config.notes.push_back(line +
                           " is ignored: only OpenSSH's client can evaluate this line, but ssh is not installed");
  }
  return config;
}

/// One thread runs ssh. Threads of hosts with the same answer wait for the result, no longer than the first thread.
std::shared_future<OpenSshAnswer> Routes::ask(const string& host, const HostOverrides& overrides,
                                              const HostConfig& config) {
  const string key = config.unread.shared
                         ? "shared " + *config.unread.shared
                         : host + ' ' + overrides.user + ' ' + std::to_string(overrides.port.value_or(0));
  std::promise<OpenSshAnswer> promise;
  {
    const std::lock_guard lock(mutex_);
    const auto [at, first] = answers_.try_emplace(key);
    if (!first) return at->second;
    at->second = promise.get_future().share();
  }
  const auto limit = std::chrono::seconds(config.connect_timeout.value_or(kAnswerSeconds));
  auto answer = ask_openssh(host, overrides, context_, limit, watchdog_->ended()->get());
  const std::lock_guard lock(mutex_);
  promise.set_value(std::move(answer));
  return answers_.at(key);
}

Result<Route> Routes::to(const plan::Host& host) {
  const auto config = TRY(settle(host));
  for (const string& note : config.notes) notes_->tell(note);
  const std::lock_guard lock(mutex_);
  Route route;
  route.host = host.name;
  route.target = {config.host_name, config.port, to_lower(host.name) != config.host_name, config.family};
  route.user = config.user;
  route.host_key = host_key_.value_or(config.host_key.value_or(plan::HostKey::strict));
  route.proxy_command = config.proxy_jump.empty() ? config.proxy_command : jump_command(config, route.host_key);
  std::vector<string> files = config.user_known_hosts;
  if (!files.empty()) route.known_hosts_file = files.front();
  route.hash_known_hosts = config.hash_known_hosts;
  files.insert(files.end(), config.global_known_hosts.begin(), config.global_known_hosts.end());
  route.known = find_host(*known_hosts(files), known_name(config.host_name, config.port, config.host_key_alias));
  if (config.connect_timeout) route.limit = std::chrono::seconds(*config.connect_timeout);
  if (!config.revoked_host_keys.empty()) {
    route.revoked_file = config.revoked_host_keys;
    route.revoked = revoked_keys(route.revoked_file);
  }
  add_identities(route, config);
  route.identities_only = config.identities_only;
  route.public_keys = config.public_keys;
  route.algorithms = config.algorithms;
  route.agent = agent(config);
  return route;
}

std::shared_ptr<const KnownHosts> Routes::known_hosts(const std::vector<string>& files) {
  auto& known = known_hosts_[files];
  if (known) return known;
  auto read = std::make_shared<KnownHosts>();
  for (const string& file : files) {
    if (const auto known_keys = context_.read_file(file)) read->add_file(file, known_keys->text);
  }
  known = std::move(read);
  return known;
}

std::shared_ptr<const Identity> Routes::identity(const string& path) {
  const auto [at, fresh] = identities_.try_emplace(path);
  if (!fresh) return at->second;
  auto file = context_.read_file(path);
  const auto public_file = context_.read_file(path + ".pub");
  if (!file && !public_file) return nullptr;
  Identity found = read_identity(path, file ? std::move(file->text) : "", public_file ? public_file->text : "");
  if (file && found.kind != Identity::Kind::foreign && is_unprotected(*file, context_.user_id)) {
    found.kind = Identity::Kind::unprotected;
  }
  at->second = std::make_shared<Identity>(std::move(found));
  return at->second;
}

void Routes::add_identities(Route& route, const HostConfig& config) {
  for (const string& path : config.identity_files) {
    if (const auto found = identity(path)) {
      route.identities.push_back(found);
    } else if (config.identity_files_named) {
      route.missing_identities.push_back(path);
    }
    if (config.certificate_files.empty()) add_certificate(route, path + "-cert.pub", false);
  }
  for (const string& path : config.certificate_files) add_certificate(route, path, true);
}

void Routes::add_certificate(Route& route, const string& path, bool named) {
  const auto [at, fresh] = certificates_.try_emplace(path);
  if (fresh) {
    const auto file = context_.read_file(path);
    if (auto found = read_certificate(path, file ? file->text : "")) {
      at->second = std::make_shared<Certificate>(*std::move(found));
    }
  }
  if (at->second) {
    route.certificates.push_back(at->second);
  } else if (named) {
    route.missing_identities.push_back(path);
  }
}

std::shared_ptr<const RevokedKeys> Routes::revoked_keys(const string& path) {
  auto& revoked = revoked_keys_[path];
  if (revoked) return revoked;
  const auto file = context_.read_file(path);
  revoked = file ? std::make_shared<RevokedKeys>(file->text) : RevokedKeys::unreadable();
  return revoked;
}

std::shared_ptr<AgentProxy> Routes::agent(const HostConfig& config) {
  string path = config.identity_agent.value_or("SSH_AUTH_SOCK");
  if (path == "none") return nullptr;
  if (path == "SSH_AUTH_SOCK") path = context_.variable(path).value_or("");
  if (path.starts_with('$')) path = context_.variable(path.substr(1)).value_or("");
  if (path.empty()) return nullptr;
  auto& found = agents_[path];
  if (!found) found = std::make_shared<AgentProxy>(path, watchdog_);
  return found;
}

OpenSshAnswer ask_openssh(const std::string& host, const HostOverrides& overrides, const SshContext& context,
                          std::chrono::milliseconds limit, int ended) {
  if (!sys::is_in_path("ssh", context.variable("PATH").value_or("/usr/bin:/bin")))
    return {.installed = false, .text = {}, .trouble = {}};
  const CommandAnswer answer = ask_command(question(host, overrides), limit, ended);
  if (is_answer(answer.text)) return {.text = answer.text, .trouble = {}};
  return {.text = {}, .trouble = answer.trouble};
}

SshContext read_process_context() {
  SshContext here;
  const auto own = own_environment();
  const passwd* user = ::getpwuid(::getuid());  // NOLINT(concurrency-mt-unsafe): in the launcher's thread alone
  here.home = user ? user->pw_dir : variable(own, "HOME").value_or("/");
  here.user = user ? user->pw_name : variable(own, "USER").value_or("");
  here.user_id = ::getuid();
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) == 0) here.host_name = name.data();
  here.read_file = read_whole;
  here.glob = files_named;
  here.variable = [own](const std::string& wanted) { return variable(own, wanted); };
  return here;
}

Notes::Notes(std::function<void(const std::string&)> listener) : listener_(std::move(listener)) {}

void Notes::tell(const std::string& note) {
  const std::lock_guard lock(mutex_);
  if (listener_ && shown_.insert(note).second) listener_(note);
}

void Notes::end() {
  const std::lock_guard lock(mutex_);
  listener_ = nullptr;
}

namespace {

using std::string;
using Retry = Disconnect::Retry;

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

Disconnect blame_command(Disconnect end, std::string_view output) {
  string words = last_lines(output);
  if (words.empty()) return end;
  const Retry retry = retry_after(words);
  return {.what = "cannot connect through the jump host or proxy command",
          .why = std::move(words),
          .hint = "run ssh HOST true to test the connection without dlaunch",
          .retry = retry};
}

}  // namespace dlaunch::transport::ssh
