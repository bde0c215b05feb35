// The addresses by which other hosts may reach this one, as the kernel tells them; no name server is asked.
#pragma once

#include <string>
#include <vector>

namespace dlaunch::sys {

struct InterfaceAddress {
  std::string interface;
  std::string address;
  bool v6 = false;
};

/// Addresses of interfaces that are up, in the kernel's order, without loopback and link-local ones.
std::vector<InterfaceAddress> interface_addresses();

}  // namespace dlaunch::sys
