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
#include <vector>

#include "dlaunch/host.h"
#include "transport/ssh/config.h"
#include "transport/ssh/route.h"

namespace dlaunch::transport::ssh {

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

/// This user and machine for ssh: from the password database, not from the environment.
SshContext read_process_context();

}  // namespace dlaunch::transport::ssh
