// The user's ssh configuration as ssh_config(5) defines it, read once however many hosts are looked up. What only ssh
// itself can tell (Match exec, CanonicalizeHostname, unknown keywords) is reported as unread, and ssh's own answer
// (`ssh -G`) can be looked up in the same way. Notes name settings that would change how a host is reached and are not
// supported; settings that do not matter here (forwarding, multiplexing, terminals) are ignored. PURE: a call-back
// reads the files.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/request.h"
#include "transport/ssh/address_family.h"
#include "transport/ssh/algorithms.h"

namespace dlaunch::transport::ssh {

struct File {
  std::string text;
  unsigned owner = 0;
  unsigned mode = 0;  ///< permission bits
};

/// The user and the machine for whom the configuration is read.
struct SshContext {
  std::string home;
  std::string user;
  std::string host_name;  ///< this machine's, for %l and %L
  unsigned user_id = 0;
  std::function<std::optional<File>(const std::string& path)> read_file;
  /// The existing files that match a pattern, sorted.
  std::function<std::vector<std::string>(const std::string& pattern)> glob;
  std::function<std::optional<std::string>(const std::string& name)> variable;
};

/// What only ssh itself can tell of the configuration.
struct Unread {
  std::vector<std::string> what;  ///< "file:line: match exec"; empty: all was read
  /// Hosts with an equal text get the same answer but for their names; none: each host needs its own answer.
  std::optional<std::string> shared;
  std::optional<Error> refusal;  ///< set when the host cannot be reached without ssh's answer
};

/// The settings of one host; what the configuration does not set has ssh's default.
struct HostConfig {
  std::string host_name;
  std::string user;
  int port = 22;
  std::vector<std::string> identity_files;
  bool identity_files_named = false;  ///< by the user; else they are the default ones
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

/// What the host list says of a host, which overrides the configuration.
struct HostOverrides {
  std::string user;
  std::optional<int> port;
  std::string identity;
  std::string jump;
};

struct ConfigFile;  // parsed
struct ConfigPath {
  std::string path;
  bool users = true;  ///< the user's own file, which nobody else may be able to write
};

class Config {
 public:
  /// Reads the user's file, then the machine's; a missing one is empty. A line that ssh refuses is an Error, and so is
  /// a file that others can write.
  static Result<Config> read(const std::vector<ConfigPath>& paths, const SshContext& context);
  /// ~/.ssh/config and /etc/ssh/ssh_config.
  static std::vector<ConfigPath> usual_paths(const SshContext& context);
  /// Reads what `ssh -G` printed for one host; `shared`: it serves other hosts, except for the name.
  static Config of_answer(std::string_view text, bool shared);

  Result<HostConfig> resolve(const std::string& host, const HostOverrides& said, const SshContext& context) const;

 private:
  std::vector<std::shared_ptr<const ConfigFile>> files_;
  std::vector<std::string> doubtful_;  // files that their group can write
  bool is_answer_ = false;
};

}  // namespace dlaunch::transport::ssh
