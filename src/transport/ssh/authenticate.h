// Logs in with the user's keys: what the agent holds, then key files. Never asks. Runs in a host's own thread.
#pragma once

#include <optional>

#include "transport/ssh/connection.h"

namespace dlaunch::transport::ssh {

/// Nothing when the host let us in.
std::optional<WayEnd> authenticate(const Connection& connection);

}  // namespace dlaunch::transport::ssh
