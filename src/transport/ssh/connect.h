// A TCP connection to a name: every address is tried, each 250 ms after the one before, and the first that answers
// wins. Runs in a host's own thread; every wait ends at the deadline or when `ended` is readable.
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
  bool renamed = false;  ///< not what the user calls the host, so that messages show it
  AddressFamily family = AddressFamily::any;
};

/// Resolves the name and connects; each of the two may take `limit`.
tl::expected<Connected, Disconnect> connect_to(const Target& target, std::chrono::milliseconds limit, int ended);

/// The addresses of a host, or why there are none. Waits until the deadline or until `ended` is readable.
tl::expected<sys::Addresses, Disconnect> resolve(const Target& target, std::chrono::steady_clock::time_point deadline,
                                                 int ended);

}  // namespace dlaunch::transport::ssh
