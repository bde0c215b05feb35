// Is it the host that the user means? Its key against the known ones. Runs in a host's own thread.
#pragma once

#include <optional>

#include "transport/ssh/connection.h"

namespace dlaunch::transport::ssh {

/// Nothing when the key is accepted; with plan::HostKey::accept_new an unknown one is written down first.
std::optional<Disconnect> check_host_key(const SshConnection& connection);

}  // namespace dlaunch::transport::ssh
