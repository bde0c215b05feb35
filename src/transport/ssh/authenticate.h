// Logs in with the user's keys: first the keys of the ssh-agent, then key files. Never prompts. Runs in the host's own
// thread.
#pragma once

#include <optional>

#include "transport/ssh/connection.h"

namespace dlaunch::transport::ssh {

/// Returns nullopt after a successful login.
std::optional<Disconnect> authenticate(const SshConnection& connection);

}  // namespace dlaunch::transport::ssh
