// Makes the route to each host. Reads the ssh configuration, the known hosts and the keys once, for the first host.
// Runs OpenSSH's client for parts that only ssh can evaluate, once for all hosts with the same answer. Thread-safe;
// shared by the hosts' threads.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/host.h"
#include "dlaunch/request.h"
#include "net/tcp.h"
#include "transport/ssh/agent_proxy.h"
#include "transport/ssh/algorithms.h"
#include "transport/ssh/config.h"
#include "transport/ssh/identity.h"
#include "transport/ssh/known_hosts.h"
#include "transport/transport.h"

namespace dlaunch::transport::ssh {

// All data for connecting to one host, known before the first packet: from the host list, the ssh configuration, the
// known hosts and the keys. A value, made for the host's own thread.

struct Route {
  std::string host;  ///< as the user wrote the name
  net::Target target;
  std::string proxy_command;  ///< replaces TCP; empty: none
  std::string user;
  plan::HostKey host_key = plan::HostKey::strict;
  KnownHost known;
  std::string known_hosts_file;                ///< the user's own file; accepted keys are added here
  bool hash_known_hosts = false;               ///< add hashed names
  std::string revoked_file;                    ///< RevokedHostKeys
  std::shared_ptr<const RevokedKeys> revoked;  ///< the content of the file; null: not set
  std::vector<std::shared_ptr<const Identity>> identities;
  std::vector<std::shared_ptr<const Certificate>> certificates;  ///< each for an identity or a key of the agent
  bool public_keys = true;                                       ///< public keys may be used to log in
  bool identities_only = false;                 ///< use only keys of the agent that are also identities
  std::shared_ptr<AgentProxy> agent;            ///< null: no agent, or the agent must not be used
  std::vector<std::string> missing_identities;  ///< files that the user named and that are missing
  Algorithms algorithms;
  std::chrono::milliseconds limit{10'000};  ///< for each phase
};

/// Notes for the user from the hosts' threads; each text is passed on once. Thread-safe; shared by the threads and the
/// transport.
class Notes {
 public:
  explicit Notes(std::function<void(const std::string&)> listener);
  void tell(const std::string& note);
  /// Stops passing on notes.
  void end();

 private:
  std::mutex mutex_;
  std::function<void(const std::string&)> listener_;
  std::set<std::string> shown_;
};

// Reads the configuration of a host from OpenSSH's own client (`ssh -G`). Blocks until the client answers, the limit is
// over or `ended` is readable; runs in the host's own thread.

struct OpenSshAnswer {
  bool installed = true;
  std::string text;     ///< the output; empty after a failure
  std::string trouble;  ///< the reason of the failure, from ssh's stderr
};

OpenSshAnswer ask_openssh(const std::string& host, const HostOverrides& overrides, const SshContext& context,
                          std::chrono::milliseconds limit, int ended);

class Routes {
 public:
  /// `host_key`: the user's --host-key, overrides the configuration.
  Routes(SshContext context, std::optional<plan::HostKey> host_key, std::shared_ptr<Notes> notes,
         std::shared_ptr<Watchdog> watchdog);

  /// Reads files. May wait for OpenSSH's client as long as for a connection.
  Result<Route> to(const plan::Host& host);

 private:
  Result<std::shared_ptr<const Config>> config();
  Result<HostConfig> settle(const plan::Host& host);
  Result<HostConfig> settle_with_openssh(const std::string& host, const HostOverrides& overrides, HostConfig config);
  std::shared_future<OpenSshAnswer> ask(const std::string& host, const HostOverrides& overrides,
                                        const HostConfig& config);
  std::shared_ptr<const KnownHosts> known_hosts(const std::vector<std::string>& files);
  std::shared_ptr<const Identity> identity(const std::string& path);
  void add_identities(Route& route, const HostConfig& config);
  void add_certificate(Route& route, const std::string& path, bool named);
  std::shared_ptr<const RevokedKeys> revoked_keys(const std::string& path);
  std::shared_ptr<AgentProxy> agent(const HostConfig& config);

  const SshContext context_;
  const std::optional<plan::HostKey> host_key_;
  const std::shared_ptr<Notes> notes_;
  const std::shared_ptr<Watchdog> watchdog_;
  std::mutex mutex_;  // guards all members below
  std::shared_ptr<const Config> config_;
  std::map<std::string, std::shared_future<OpenSshAnswer>> answers_;
  std::map<std::vector<std::string>, std::shared_ptr<const KnownHosts>> known_hosts_;
  std::map<std::string, std::shared_ptr<const Identity>> identities_;
  std::map<std::string, std::shared_ptr<const Certificate>> certificates_;
  std::map<std::string, std::shared_ptr<const RevokedKeys>> revoked_keys_;
  std::map<std::string, std::shared_ptr<AgentProxy>> agents_;
};

/// The name and home of this user from the password database, as in ssh, not from the environment; the host name.
SshContext read_process_context();

// Connections through other hosts: the command for ProxyJump, and the reason in the stderr of a proxy command. PURE.

/// The ssh command that connects through the jump hosts one after the other; never prompts.
std::string jump_command(const HostConfig& config, plan::HostKey host_key);

/// Returns the reason why a session ended before its handshake: the last lines of the
/// command's stderr (`output`), or `end` if it printed nothing.
Disconnect blame_command(Disconnect end, std::string_view output);

}  // namespace dlaunch::transport::ssh
