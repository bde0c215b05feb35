// Copies bytes between a channel and the launcher's socket, in both directions, with back-pressure: bytes are read only
// if the other side accepts them. Runs in the host's own thread.
#pragma once

#include <string>

#include "sys/fd.h"
#include "sys/pump_idle_flag.h"
#include "transport/ssh/library.h"

namespace dlaunch::transport::ssh {

/// The two sides of a pump. All references must outlive the pump; the session is non-blocking.
struct PumpEnds {
  const Library& lib;
  ssh_session session;
  ssh_channel channel;
  const sys::Fd& stream;    ///< the launcher's; non-blocking
  const sys::Fd& errors;    ///< receives the remote stderr; non-blocking
  const sys::Fd& noise;     ///< stderr of a proxy command, copied to `errors`; non-blocking, or empty
  sys::PumpIdleFlag& idle;  ///< true while all bytes read from the stream are written to the socket
};

/// Returns after the remote program's output was delivered, after the launcher closed its side, or after the connection
/// was lost. The text is the reason of a lost connection, otherwise empty.
std::string pump(const PumpEnds& ends);

}  // namespace dlaunch::transport::ssh
