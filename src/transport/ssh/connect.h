// A TCP connection to a name: every address is tried, the next one 250 ms after the one before it, the first that
// answers wins. Called in a host's own thread; every wait ends at the deadline or when `ended` is readable.
#pragma once

#include <chrono>
#include <string>

#include "sys/fd.h"
#include "sys/lookup.h"
#include "transport/ssh/address_family.h"
#include "transport/transport.h"

namespace dlaunch::transport::ssh {

struct Connected {
  sys::Fd socket;       ///< blocking; TCP_NODELAY, keepalive
  std::string address;  ///< numeric
};

struct Target {
  std::string name;
  int port = 22;
  bool renamed = false;  ///< it is not what the user calls the host, and belongs into a message
  AddressFamily family = AddressFamily::any;
};

/// Both phases, name and connection, may take `limit`.
tl::expected<Connected, Disconnect> connect_to(const Target& target, std::chrono::milliseconds limit, int ended);

/// The addresses of a host, or why there are none. Waits until the deadline, or until `ended` is readable.
tl::expected<sys::Addresses, Disconnect> resolve(const Target& target, std::chrono::steady_clock::time_point deadline,
                                                 int ended);

}  // namespace dlaunch::transport::ssh
