// The user's ssh configuration as ssh_config(5) has it, read once however many hosts are looked up in it. What only ssh
// itself can tell (Match exec, CanonicalizeHostname, keywords that are not known here) is named as unread, and its own
// answer (`ssh -G`) can be looked up in the same way. What would change how a host is reached and is not supported is
// told in notes; what is of no account here (forwarding, multiplexing, terminals) is passed over. PURE: files come by a
// call-back.
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
  unsigned mode = 0;  ///< its permissions
};

/// Who asks, from where.
struct SshContext {
  std::string home;
  std::string user;
  std::string host_name;  ///< of this machine, for %l and %L
  unsigned user_id = 0;
  std::function<std::optional<File>(const std::string& path)> read_file;
  /// Existing files that a pattern names, sorted.
  std::function<std::vector<std::string>(const std::string& pattern)> glob;
  std::function<std::optional<std::string>(const std::string& name)> variable;
};

/// What of the configuration only ssh itself can tell.
struct Unread {
  std::vector<std::string> what;  ///< "file:line: match exec"; empty: all was read
  /// Hosts of one text get one answer, but for their names; none: each host has an answer of its own.
  std::optional<std::string> shared;
  std::optional<Error> refusal;  ///< without ssh's word there is no going on
};

/// What is to hold for one host; what nobody said has ssh's own default.
struct HostConfig {
  std::string host_name;
  std::string user;
  int port = 22;
  std::vector<std::string> identity_files;
  bool identity_files_named = false;  ///< by the user; else they are the usual ones
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

/// What the host list says, which comes before the configuration.
struct Said {
  std::string user;
  std::optional<int> port;
  std::string identity;
  std::string jump;
};

struct ConfigFile;  // parsed
struct ConfigPath {
  std::string path;
  bool users = true;  ///< the user's own: nobody else may be able to write it
};

class Config {
 public:
  /// The user's file, then the machine's; one that does not exist is empty. A line that ssh refuses is an error, and
  /// so is a file that others can write.
  static Result<Config> read(const std::vector<ConfigPath>& paths, const SshContext& surroundings);
  /// ~/.ssh/config and /etc/ssh/ssh_config.
  static std::vector<ConfigPath> usual_paths(const SshContext& surroundings);
  /// What `ssh -G` printed for one host; `shared`: others have the same but for their names.
  static Config of_answer(std::string_view text, bool shared);

  Result<HostConfig> resolve(const std::string& host, const Said& said, const SshContext& surroundings) const;

 private:
  std::vector<std::shared_ptr<const ConfigFile>> files_;
  std::vector<std::string> doubtful_;  // files whose group may write them
  bool is_answer_ = false;
};

}  // namespace dlaunch::transport::ssh
