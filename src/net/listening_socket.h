// The socket on which a launcher listens for its nodes: bound to one address, open until the last node has connected.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/ip_address.h"
#include "base/time.h"
#include "dlaunch/error.h"
#include "dlaunch/port_range.h"
#include "net/this_machine.h"
#include "sys/fd.h"

namespace dlaunch::net {

struct ListeningSocket {
  sys::Fd socket;  ///< listening; non-blocking
  Endpoint at;     ///< the bound address, numeric
};

/// Listens on the address of `where` that belongs to this machine. If `where` has no name, or a name only valid on this
/// machine (127.0.1.1 in /etc/hosts), the address on the network is used. Blocks until the name resolves, the deadline
/// passes or `ended` is readable. The Error has kExitRefused.
Result<ListeningSocket> listen_for_nodes(const Endpoint& where, Time deadline, int ended);

/// Like listen_for_nodes(), but returns nullopt if no address of `where` belongs to this machine, or if the port is in
/// use here, for example by another node 0.
Result<std::optional<ListeningSocket>> listen_if_here(const Endpoint& where, const OwnNames& own, Time deadline,
                                                      int ended);

/// Listens on a numeric address; does not block. The Error has kExitHostLost.
Result<ListeningSocket> listen_on_address(const std::string& address, PortRange ports);

/// This machine's address on the route to the first of these hosts that is another machine and resolves by the
/// deadline. Otherwise the address on the network. Blocks until the deadline or until `ended` is readable.
std::string address_towards(const std::vector<std::string>& hosts, Time deadline, int ended);

/// This machine's numeric address on the network; a loopback address if there is no other address.
std::string address_on_the_network();

}  // namespace dlaunch::net
