// Connects to a host name by TCP (sys/tcp.h). Runs in the host's own thread; each wait ends at the deadline or if
// `ended` is readable.
#pragma once

#include <chrono>
#include <string>

#include "base/ip_address.h"
#include "dlaunch/error.h"
#include "net/disconnect.h"
#include "sys/fd.h"
#include "sys/lookup.h"

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
