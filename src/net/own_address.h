// Chooses the address of this machine for ranks on other hosts. In this order:
//
// 1. The name or address of this machine in the host list: the user chose the network. Not used if the name does not
// resolve here or means the machine only to itself (localhost, 127.0.1.1).
// 2. The local address for packets to the first other host whose name resolves here: replies can reach this address.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "net/this_machine.h"

namespace dlaunch::net {

/// The local address that the kernel would use to send to another address.
using SourceTowards = std::function<std::optional<std::string>(const std::string& address)>;

Result<std::string> address_for_others(const std::string& own_name, const std::vector<std::string>& others,
                                       const Resolve& resolve, const SourceTowards& source_towards);

/// Asks the kernel's routing table; sends no packets.
std::optional<std::string> source_towards(const std::string& address);

}  // namespace dlaunch::net
