// Disconnect: why a connection to a host could not be made, or ended.
#pragma once

#include <string>

namespace dlaunch {

/// As far as a transport can report.
struct Disconnect {
  /// When a new attempt may help: never; after the host is up (--wait-hosts); soon, by itself (a throttling sshd).
  enum class Retry { never, when_up, soon };
  std::string what;  ///< the failed phase, for the user: "cannot connect to 10.0.0.3 port 22"; empty: unknown
  std::string why;   ///< "Connection refused"
  std::string hint;  ///< the action to take; may be empty
  Retry retry = Retry::never;
  bool nothing_left = false;  ///< all processes of the job on the host have ended
};

}  // namespace dlaunch
