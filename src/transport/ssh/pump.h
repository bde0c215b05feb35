// Carries bytes between a channel and the launcher's socket, in both directions, with back-pressure: what one side does
// not take is not read from the other. Runs in a host's own thread.
#pragma once

#include <string>

#include "sys/fd.h"
#include "transport/ssh/library.h"
#include "transport/ssh/pump_idle_flag.h"

namespace dlaunch::transport::ssh {

/// The two sides of a pump. All references outlive it; the session is non-blocking.
struct PumpEnds {
  const Library& lib;
  ssh_session session;
  ssh_channel channel;
  const sys::Fd& stream;  ///< the launcher's; non-blocking
  const sys::Fd& errors;  ///< where the remote stderr goes; non-blocking
  const sys::Fd& noise;   ///< stderr of a proxy command, which goes there too; non-blocking, or none
  PumpIdleFlag& idle;     ///< true while all that was read from the stream is written to the socket
};

/// Returns when the remote program's output has ended and was taken, when the launcher closed its side, or when the
/// connection was lost; the text is the reason for the last, else empty.
std::string pump(const PumpEnds& ends);

}  // namespace dlaunch::transport::ssh
