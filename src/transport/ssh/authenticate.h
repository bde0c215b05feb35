// Logs in with the user's keys: the agent's first, then key files. Never prompts. Runs in a host's own thread.
#pragma once

#include <optional>

#include "transport/ssh/connection.h"

namespace dlaunch::transport::ssh {

/// nullopt when the host let us in.
std::optional<Disconnect> authenticate(const SshConnection& connection);

}  // namespace dlaunch::transport::ssh
