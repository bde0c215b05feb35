// The user's ssh configuration as defined by ssh_config(5), read once for all hosts. Parts that only ssh can evaluate
// (Match exec, CanonicalizeHostname, unknown keywords) are reported as unread; ssh's own answer (`ssh -G`) can be
// resolved in the same way. Notes list unsupported settings that would change the connection. Irrelevant settings are
// ignored: forwarding, multiplexing, terminals. PURE: call-backs read the files.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip_address.h"
#include "dlaunch/error.h"
#include "dlaunch/request.h"
#include "transport/ssh/algorithms.h"

namespace dlaunch::transport::ssh {

struct File {
  std::string text;
  unsigned owner = 0;
  unsigned mode = 0;  ///< permission bits
};

/// The user and the machine of the configuration.
struct SshContext {
  std::string home;
  std::string user;
  std::string host_name;  ///< of this machine, for %l and %L
  unsigned user_id = 0;
  std::function<std::optional<File>(const std::string& path)> read_file;
  /// Returns the existing files that match a pattern, sorted.
  std::function<std::vector<std::string>(const std::string& pattern)> glob;
  std::function<std::optional<std::string>(const std::string& name)> variable;
};

/// The parts of a configuration that only ssh can evaluate.
struct Unread {
  std::vector<std::string> what;  ///< "file:line: match exec"; empty: nothing is unread
  /// Hosts with equal texts have the same answer, except for their names. nullopt: each host needs its own answer.
  std::optional<std::string> shared;
  std::optional<Error> refusal;  ///< set if the host cannot be reached without ssh's answer
};

/// The settings of one host, with ssh's defaults for unset values.
struct HostConfig {
  std::string host_name;
  std::string user;
  int port = 22;
  std::vector<std::string> identity_files;
  bool identity_files_named = false;  ///< true: named by the user; false: the default files
  std::vector<std::string> certificate_files;
  bool public_keys = true;  ///< PubkeyAuthentication
  bool identities_only = false;
  std::optional<std::string> identity_agent;  ///< a path, "none", "SSH_AUTH_SOCK" or "$NAME"
  std::string proxy_jump;
  std::string proxy_command;
  std::optional<int> connect_timeout;  ///< seconds
  std::optional<plan::HostKey> host_key;
  std::vector<std::string> user_known_hosts;
  std::vector<std::string> global_known_hosts;
  std::string host_key_alias;
  bool hash_known_hosts = false;
  std::string revoked_host_keys;  ///< a file; empty: none
  Algorithms algorithms;
  AddressFamily family = AddressFamily::any;
  std::vector<std::string> notes;
  Unread unread;
};

/// Settings of the host list; they override the configuration.
struct HostOverrides {
  std::string user;
  std::optional<int> port;
  std::string identity;
  std::string jump;
};

struct ConfigFile;  // parsed
struct ConfigPath {
  std::string path;
  bool users = true;  ///< the user's own file; other users must not have write permission
};

class Config {
 public:
  /// Reads the user's file, then the machine's file; a missing file counts as empty. Returns an Error for a line that
  /// ssh refuses and for a file that other users can write.
  static Result<Config> read(const std::vector<ConfigPath>& paths, const SshContext& context);
  /// ~/.ssh/config and /etc/ssh/ssh_config.
  static std::vector<ConfigPath> usual_paths(const SshContext& context);
  /// Parses the output of `ssh -G` for a host. `shared`: the output also serves other hosts, except for the host name.
  static Config of_answer(std::string_view text, bool shared);

  Result<HostConfig> resolve(const std::string& host, const HostOverrides& overrides, const SshContext& context) const;

 private:
  std::vector<std::shared_ptr<const ConfigFile>> files_;
  std::vector<std::string> doubtful_;  // files writable by their group
  bool is_answer_ = false;
};

}  // namespace dlaunch::transport::ssh
