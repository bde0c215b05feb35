// Is it the host that the user means? Its key against the known ones. Runs in a host's own thread.
#pragma once

#include <optional>

#include "transport/ssh/library.h"
#include "transport/ssh/route.h"
#include "transport/ssh/watchdog.h"

namespace dlaunch::transport::ssh {

struct Handshaken {
  const Library& lib;
  ssh_session session;
  const Route& route;
  Watchdog& watchdog;
};

/// Nothing when the key is accepted; with HostKey::accept_new an unknown one is written down first.
std::optional<WayEnd> check_host_key(const Handshaken& connection);

}  // namespace dlaunch::transport::ssh
