// Compares a host's key with the known ones. Runs in the host's own thread.
#pragma once

#include <optional>

#include "transport/ssh/connection.h"

namespace dlaunch::transport::ssh {

/// nullopt when the key is accepted; with plan::HostKey::accept_new an unknown one is first added to known_hosts.
std::optional<Disconnect> check_host_key(const SshConnection& connection);

}  // namespace dlaunch::transport::ssh
