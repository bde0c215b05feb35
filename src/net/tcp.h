// Connects to a host name by TCP (sys/tcp.h). Runs in the host's own thread; each wait ends at the deadline or if
// `ended` is readable.
#pragma once

#include <chrono>
#include <string>

#include "base/ip_address.h"
#include "dlaunch/error.h"
#include "sys/fd.h"
#include "sys/lookup.h"

namespace dlaunch {

/// Why a connection to a host could not be made, or ended, as far as a transport can report.
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

namespace dlaunch::net {

struct Connected {
  sys::Fd socket;       ///< as sys::TcpConnection
  std::string address;  ///< numeric
};

struct Target {
  std::string name;
  int port = 22;
  bool renamed = false;  ///< true: the user wrote another name, so messages show this name
  AddressFamily family = AddressFamily::any;
};

/// Resolves the name and connects. `limit` applies to each of the two steps.
tl::expected<Connected, Disconnect> connect_to(const Target& target, std::chrono::milliseconds limit, int ended);

/// The addresses of a host, or the reason of the failure. Waits until the deadline or until `ended` is readable.
tl::expected<sys::Addresses, Disconnect> resolve(const Target& target, std::chrono::steady_clock::time_point deadline,
                                                 int ended);

}  // namespace dlaunch::net
