// A connection after its handshake, shared by the steps of a session, and the first two steps: the check of the host's
// key, and the login. All run in the host's own thread. The session is non-blocking from now on, because libssh does
// not notice a closed connection in its own waits.
#pragma once

#include <functional>
#include <optional>

#include "transport/ssh/library.h"
#include "transport/ssh/routes.h"
#include "transport/ssh/watchdog.h"

namespace dlaunch::transport::ssh {

struct SshConnection {
  const Library& lib;
  ssh_session session;
  const Route& route;
  Watchdog& watchdog;
  const Watchdog::Guard& guard;  ///< of the socket, with the deadline of the phase

  /// Repeats `call` while it returns `again`. Returns SSH_ERROR if the connection is closed or the deadline passed.
  int finish(int again, const std::function<int()>& call) const;
};

/// Compares a host's key with the known keys. Returns nullopt if the key is accepted. With plan::HostKey::accept_new,
/// an unknown key is first added to known_hosts.
std::optional<Disconnect> check_host_key(const SshConnection& connection);

/// Logs in with the user's keys: first the keys of the ssh-agent, then key files. Never prompts. Returns nullopt after
/// a successful login.
std::optional<Disconnect> authenticate(const SshConnection& connection);

}  // namespace dlaunch::transport::ssh
