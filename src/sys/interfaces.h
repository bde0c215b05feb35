// The addresses of this host that other hosts may reach, from the kernel, without a name server.
#pragma once

#include <string>
#include <vector>

namespace dlaunch::sys {

struct InterfaceAddress {
  std::string interface;
  std::string address;
  bool v6 = false;
};

/// Addresses of active interfaces, in the kernel's order, without loopback and link-local addresses.
std::vector<InterfaceAddress> interface_addresses();

}  // namespace dlaunch::sys
