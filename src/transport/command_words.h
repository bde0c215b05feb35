// Recognizes a stderr line of OpenSSH's client that decides about the host. PURE.
#pragma once

#include <string_view>

namespace dlaunch::transport {

/// True if OpenSSH's client reports that sshd closed the login without a reason: throttled (MaxStartups) or killed.
bool is_dropped_login(std::string_view words);

}  // namespace dlaunch::transport
