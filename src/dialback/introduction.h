// How a connected node introduces itself to its launcher. The node proves its knowledge of the job's key, checks the
// launcher's proof, and sends its statement.
#pragma once

#include <string>

#include "base/time.h"
#include "dialback/handshake.h"
#include "dialback/sealed_socket.h"
#include "dialback/statement.h"

namespace dlaunch::dialback {

/// Random bytes for a handshake, from the kernel.
HandshakeRandom random_for_handshake();

/// A launcher that has admitted this node.
struct LauncherConnection {
  SealedSocket socket;
  std::string address;  ///< of the launcher, for example "10.0.0.1:29400"
  std::string job_id;
};

/// Why an attempt to introduce the node failed; a fatal failure stops all attempts.
struct AttemptFailure {
  Error error;
  bool fatal = false;
};
template <class T>
using AttemptResult = tl::expected<T, AttemptFailure>;

/// Each wait has a limit and ends if `ended` is readable. `address`: the peer of `connected`.
AttemptResult<LauncherConnection> introduce(sys::Fd connected, const std::string& address, const Secret& key,
                                            const Statement& self, int ended);

/// Waits for bytes, for `ended` or for the deadline. Returns true if bytes are available.
bool readable(int fd, int ended, Time deadline);

}  // namespace dlaunch::dialback
