// Compares a host's key with the known keys. Runs in the host's own thread.
#pragma once

#include <optional>

#include "transport/ssh/connection.h"

namespace dlaunch::transport::ssh {

/// Returns nullopt if the key is accepted. With plan::HostKey::accept_new, an unknown key is first added to
/// known_hosts.
std::optional<Disconnect> check_host_key(const SshConnection& connection);

}  // namespace dlaunch::transport::ssh
