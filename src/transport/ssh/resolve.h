// The addresses of a name. getaddrinfo cannot be interrupted, so it has a thread of its own that is left behind when
// nobody waits any more.
#pragma once

#include <netdb.h>

#include <chrono>
#include <memory>

#include "transport/ssh/connect.h"

namespace dlaunch::transport::ssh {

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

tl::expected<Addresses, WayEnd> resolve(const Target& target, std::chrono::steady_clock::time_point deadline,
                                        int ended);

}  // namespace dlaunch::transport::ssh
