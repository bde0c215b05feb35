// A connection after its handshake, shared by the steps of a session. From there on it is non-blocking, because
// libssh's own waits do not notice that a host hung up, and sleep until their time is over.
#pragma once

#include <functional>

#include "transport/ssh/library.h"
#include "transport/ssh/route.h"
#include "transport/ssh/watchdog.h"

namespace dlaunch::transport::ssh {

struct SshConnection {
  const Library& lib;
  ssh_session session;
  const Route& route;
  Watchdog& watchdog;
  const Watchdog::Guard& guard;  ///< of the socket, with the phase's deadline

  /// Calls until the answer is not `again`; SSH_ERROR once the connection is gone or its time is over.
  int finish(int again, const std::function<int()>& call) const;
};

}  // namespace dlaunch::transport::ssh
