// A connection after its handshake, as the steps of a session share it. Non-blocking from there on, because libssh's
// own waits do not see a host that hung up (and sleep until their time is over).
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

  /// Calls until the answer is another than `again`; SSH_ERROR once the connection is gone or its time is over.
  int finish(int again, const std::function<int()>& call) const;
};

}  // namespace dlaunch::transport::ssh
