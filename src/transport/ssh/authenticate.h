// Logs in with the user's keys: what the agent holds, then key files. Never asks. Runs in a host's own thread.
#pragma once

#include <optional>

#include "transport/ssh/connection.h"

namespace dlaunch::transport::ssh {

/// Nothing when the host let us in.
std::optional<Disconnect> authenticate(const SshConnection& connection);

}  // namespace dlaunch::transport::ssh
