// Decides if a name in a host list means this machine, and chooses the address of this machine for other hosts. No
// other module resolves names for this purpose.
//
// Known without a resolver: localhost, 127.x.x.x, ::1, the full host name and the addresses of this machine. A name
// that starts with the host name and a dot may be the full name. The name means this machine if an address of the name
// belongs to this machine. Every other name counts as another host: resolving 10,000 names would take too long, and
// agents on the same machine detect duplicates later.
#pragma once

#include <sys/socket.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch::net {

struct OwnNames {
  std::vector<std::string> names;      ///< the host name; under Slurm also the name of the node
  std::vector<std::string> addresses;  ///< addresses of the interfaces in the form of inet_ntop, without zone
};

/// The addresses of a name in the form of inet_ntop; empty if the name does not resolve.
using Resolve = std::function<std::vector<std::string>(const std::string& name)>;

/// Calls `resolve` only for a name that starts with the host name and a dot.
bool is_this_machine(const std::string& name, const OwnNames& own, const Resolve& resolve);

OwnNames own_names(const std::vector<std::string>& environment);

/// The address in the form of inet_ntop, without zone.
std::optional<std::string> numeric_address(const sockaddr* address);

// Chooses the address of this machine for ranks on other hosts. In this order:
//
// 1. The name or address of this machine in the host list: the user chose the network. Not for an unresolvable name, or
//    a loopback address (localhost, 127.0.1.1).
// 2. The local address for packets to the first other host with a resolvable name: replies can reach this address.

/// The local address that the kernel would use to send to another address.
using SourceTowards = std::function<std::optional<std::string>(const std::string& address)>;

Result<std::string> address_for_others(const std::string& own_name, const std::vector<std::string>& others,
                                       const Resolve& resolve, const SourceTowards& source_towards);

/// Asks the kernel's routing table; sends no packets.
std::optional<std::string> source_towards(const std::string& address);

}  // namespace dlaunch::net
