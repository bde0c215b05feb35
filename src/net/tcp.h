// TCP connections by names of hosts (sys/tcp.h), and the socket that waits for connections.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/ip_address.h"
#include "base/time.h"
#include "dlaunch/error.h"
#include "dlaunch/port_range.h"
#include "net/this_machine.h"
#include "sys/fd.h"
#include "sys/lookup.h"

namespace dlaunch {

/// Why a connection to a host could not be made, or ended, as far as a transport can report.
struct Disconnect {
  /// When a new attempt may help: never; after the host is up (--wait-hosts); soon, by itself (a throttling sshd).
  enum class Retry { never, when_up, soon };
  std::string what;  ///< the failed phase, for the user: "cannot connect to 10.0.0.3 port 22"; empty: unknown
  std::string why;   ///< "Connection refused"
  std::string hint;  ///< the action to take; may be empty
  Retry retry = Retry::never;
  bool nothing_left = false;  ///< all processes of the job on the host have ended
};

}  // namespace dlaunch

namespace dlaunch::net {

// These functions run in the host's own thread; each wait ends at the deadline or if `ended` is readable.

struct Connected {
  sys::Fd socket;       ///< as sys::TcpConnection
  std::string address;  ///< numeric
};

struct Target {
  std::string name;
  int port = 22;
  bool renamed = false;  ///< true: the user wrote another name, so messages show this name
  AddressFamily family = AddressFamily::any;
};

/// Resolves the name and connects. `limit` applies to each of the two steps.
tl::expected<Connected, Disconnect> connect_to(const Target& target, std::chrono::milliseconds limit, int ended);

/// The addresses of a host, or the reason of the failure. Waits until the deadline or until `ended` is readable.
tl::expected<sys::Addresses, Disconnect> resolve(const Target& target, std::chrono::steady_clock::time_point deadline,
                                                 int ended);

}  // namespace dlaunch::net

// The socket on which a launcher listens for its nodes: bound to one address, open until the last node has connected.

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
