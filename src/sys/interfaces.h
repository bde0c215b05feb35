// The addresses by which other hosts may reach this one, asked of the kernel and of no name server.
#pragma once

#include <string>
#include <vector>

namespace dlaunch::sys {

struct InterfaceAddress {
  std::string interface;
  std::string address;
  bool v6 = false;
};

/// Of interfaces that are up, in the kernel's order; not loopback, not link-local.
std::vector<InterfaceAddress> interface_addresses();

}  // namespace dlaunch::sys
