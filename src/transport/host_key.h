// How a host's key is judged: as ssh's StrictHostKeyChecking yes, accept-new, no.
#pragma once

namespace dlaunch::transport {

enum class HostKey { strict, accept_new, off };

}  // namespace dlaunch::transport
