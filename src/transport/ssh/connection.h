// A connection after its handshake, shared by the steps of a session. The session is non-blocking from now on: libssh's
// own waits do not notice a closed connection and sleep until their timeout.
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
  const Watchdog::Guard& guard;  ///< of the socket, with the deadline of the phase

  /// Repeats `call` while it returns `again`. Returns SSH_ERROR if the connection is closed or the deadline passed.
  int finish(int again, const std::function<int()>& call) const;
};

}  // namespace dlaunch::transport::ssh
