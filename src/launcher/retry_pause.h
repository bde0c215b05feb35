// The pause before the next attempt to connect to a host.
#pragma once

#include <chrono>
#include <optional>

#include "base/time.h"
#include "launcher/host_link.h"

namespace dlaunch::launcher {

inline constexpr int kTries = 8;  ///< for an sshd that refuses connections

/// Empty: no further attempt. The pause is random, so that rejected hosts do not all reconnect at the same time.
std::optional<std::chrono::milliseconds> pause_before_next_try(const HostFailure& loss, int tries, Time wait_until);

}  // namespace dlaunch::launcher
