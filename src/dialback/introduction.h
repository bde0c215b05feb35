// What a node says once it is connected to its launcher: it proves that it has the job's key, is shown that the
// launcher has it, too, and states what it was started for.
#pragma once

#include <string>

#include "base/time.h"
#include "dialback/sealed_socket.h"
#include "dialback/statement.h"

namespace dlaunch::dialback {

/// A launcher that has admitted this node.
struct LauncherConnection {
  SealedSocket socket;
  std::string address;  ///< the launcher's, as "10.0.0.1:29400"
  std::string job_id;
};

/// Why a try to meet a launcher failed. A fatal one is the last.
struct AttemptFailure {
  Error error;
  bool fatal = false;
};
template <class T>
using AttemptResult = tl::expected<T, AttemptFailure>;

/// Every wait has a limit, and ends when `ended` is readable. `address`: of whom `connected` leads to.
AttemptResult<LauncherConnection> introduce(sys::Fd connected, const std::string& address, const Secret& key,
                                            const Statement& self, int ended);

/// Waits for bytes, for `ended` or the deadline: whether there are bytes.
bool readable(int fd, int ended, Time deadline);

}  // namespace dlaunch::dialback
