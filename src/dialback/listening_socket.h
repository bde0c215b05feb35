// The one socket on which a launcher listens for its nodes: bound to one address, open until the last node is in.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "allocate/this_machine.h"
#include "base/time.h"
#include "dialback/endpoint.h"
#include "dlaunch/error.h"
#include "sys/fd.h"

namespace dlaunch::dialback {

struct ListeningSocket {
  sys::Fd socket;  ///< listens; non-blocking
  Endpoint at;     ///< the address that it is bound to, numeric
};

/// Listens on the address of `where` that is this machine's. A name that means this machine only to itself (127.0.1.1
/// in /etc/hosts), or none, stands for the address that faces the network. Blocks until the name resolves, the deadline
/// is over, or `ended` is readable. An Error has kExitRefused.
Result<ListeningSocket> listen_for_nodes(const Endpoint& where, Time deadline, int ended);

/// The same; none where no address of `where` is this machine's, or the port is in use here, as by another node 0.
Result<std::optional<ListeningSocket>> listen_if_here(const Endpoint& where, const allocate::OwnNames& own,
                                                      Time deadline, int ended);

/// Listens on this numeric address; does not block. An Error has kExitHostLost.
Result<ListeningSocket> listen_on_address(const std::string& address, PortRange ports);

/// The address that faces the first of these hosts that is another machine and whose name resolves here by the
/// deadline; else the one that faces the network. Blocks up to `deadline`, or until `ended` is readable.
std::string address_towards(const std::vector<std::string>& hosts, Time deadline, int ended);

/// This machine's address that faces the network, numeric; a loopback address where it has no other.
std::string address_on_the_network();

}  // namespace dlaunch::dialback
