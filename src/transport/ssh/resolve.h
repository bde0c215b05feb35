// The addresses of a host, or why there are none, in the words of a way's end.
#pragma once

#include <chrono>

#include "sys/lookup.h"
#include "transport/ssh/connect.h"

namespace dlaunch::transport::ssh {

/// Waits until the deadline, or until `ended` is readable.
tl::expected<sys::Addresses, Disconnect> resolve(const Target& target, std::chrono::steady_clock::time_point deadline,
                                                 int ended);

}  // namespace dlaunch::transport::ssh
