// One ssh connection: handshake, host key, authentication, a channel with `sh`, and the bytes. Runs in the host's own
// thread; the watchdog ends each phase at its deadline.
#pragma once

#include <atomic>

#include "sys/fd.h"
#include "transport/ssh/library.h"
#include "transport/ssh/pump_idle_flag.h"
#include "transport/ssh/route.h"
#include "transport/ssh/watchdog.h"

namespace dlaunch::transport::ssh {

/// The environment of a session. All references must outlive the session.
struct SessionParts {
  const Library& lib;
  const Route& route;
  Watchdog& watchdog;
  Watchdog::Guard& guard;  ///< of the socket
  const sys::Fd& stream;   ///< the launcher's; non-blocking
  const sys::Fd& errors;   ///< receives the remote stderr; non-blocking
  const sys::Fd& noise;    ///< stderr of a proxy command; non-blocking, or empty
  PumpIdleFlag& idle;      ///< of the pump
};

/// The end of a session, and its phase.
struct SessionEnd {
  Disconnect end;  ///< an empty `what`: no error
  bool shook_hands = false;
};

/// Runs a session over a connected socket and returns after its end.
SessionEnd run_session(const SessionParts& parts, sys::Fd socket, const std::string& address);

}  // namespace dlaunch::transport::ssh
