// Carries bytes between a channel and the launcher's socket, both ways, with back-pressure: what one side does not take
// is not read from the other. Runs in a host's own thread.
#pragma once

#include <string>

#include "sys/fd.h"
#include "transport/ssh/idle.h"
#include "transport/ssh/library.h"

namespace dlaunch::transport::ssh {

/// What a pump carries between. All outlive it; the session is non-blocking.
struct PumpEnds {
  const Library& lib;
  ssh_session session;
  ssh_channel channel;
  const sys::Fd& stream;  ///< the launcher's; non-blocking
  const sys::Fd& errors;  ///< where the remote stderr goes; non-blocking
  const sys::Fd& noise;   ///< what a command on the way says, which goes there too; non-blocking, or none
  Idle& idle;             ///< true while all that was read from the stream has been written to the socket
};

/// Returns when the remote program's output has ended and was taken, when the launcher closed its end, or when the
/// connection was lost: then the reason, else nothing.
std::string pump(const PumpEnds& ends);

}  // namespace dlaunch::transport::ssh
