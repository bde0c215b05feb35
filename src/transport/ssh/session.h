// One ssh connection: handshake, host key, authentication, one channel with `sh`, and the bytes. Runs in a host's own
// thread; the watchdog gives each phase a deadline.
#pragma once

#include <atomic>

#include "sys/fd.h"
#include "transport/ssh/library.h"
#include "transport/ssh/pump_idle_flag.h"
#include "transport/ssh/route.h"
#include "transport/ssh/watchdog.h"

namespace dlaunch::transport::ssh {

/// What a session needs besides its socket. All references outlive it.
struct SessionParts {
  const Library& lib;
  const Route& route;
  Watchdog& watchdog;
  Watchdog::Guard& guard;  ///< of the socket
  const sys::Fd& stream;   ///< the launcher's; non-blocking
  const sys::Fd& errors;   ///< where the remote stderr goes; non-blocking
  const sys::Fd& noise;    ///< stderr of a proxy command; non-blocking, or none
  PumpIdleFlag& idle;      ///< the pump's
};

/// How a session ended, and where.
struct SessionEnd {
  Disconnect end;  ///< an empty `what`: nothing went wrong
  bool shook_hands = false;
};

/// Runs over a connected socket and returns when it is over.
SessionEnd run_session(const SessionParts& parts, sys::Fd socket, const std::string& address);

}  // namespace dlaunch::transport::ssh
