#include "net/tcp.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/time.h"
#include "base/try.h"
#include "sys/interfaces.h"
#include "sys/lookup.h"
#include "sys/tcp.h"

namespace dlaunch::net {
namespace {

std::string numeric(const sys::SocketAddress& address) {
  std::array<char, NI_MAXHOST> text{};
  ::getnameinfo(address.get(), address.size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return text.data();
}

std::string hint_for(int error) {
  switch (error) {
    case ECONNREFUSED:
      return "check that sshd runs on the host and uses this port";
    case ETIMEDOUT:
      return "check that the host is up and the firewall lets packets through";
    default:
      return "check that the host is up";
  }
}

}  // namespace

tl::expected<Connected, Disconnect> connect_to(const Target& target, std::chrono::milliseconds limit, int ended) {
  const auto resolved = TRY(resolve(target, Clock::now() + limit, ended));
  std::vector<sys::SocketAddress> addresses;
  for (const addrinfo* each = resolved.get(); each; each = each->ai_next) {
    std::memcpy(&addresses.emplace_back().bytes, each->ai_addr, each->ai_addrlen);
    addresses.back().size = each->ai_addrlen;
  }
  auto connection = sys::connect_tcp(addresses, Clock::now() + limit, ended);
  if (connection) return Connected{std::move(connection->socket), numeric(addresses[connection->address])};
  const int error = connection.error();
  return tl::unexpected(Disconnect{
      .what = "cannot connect to " + (target.renamed ? target.name + " " : "") + "port " + std::to_string(target.port),
      .why = std::strerror(error),
      .hint = hint_for(error),
      .retry = Disconnect::Retry::when_up});
}

namespace {

Disconnect failed(const Target& target, const std::string& why) {
  return {.what = "cannot resolve " + (target.renamed ? target.name : "the host name"),
          .why = why,
          .hint = "check the spelling, and run `getent hosts " + target.name + "`",
          .retry = Disconnect::Retry::when_up};
}

}  // namespace

tl::expected<sys::Addresses, Disconnect> resolve(const Target& target, std::chrono::steady_clock::time_point deadline,
                                                 int ended) {
  sys::Name name{.name = target.name, .port = target.port};
  name.family = target.family == AddressFamily::inet    ? AF_INET
                : target.family == AddressFamily::inet6 ? AF_INET6
                                                        : AF_UNSPEC;
  sys::LookedUp found = sys::look_up_numeric(name);
  if (found.error == EAI_NONAME) {
    name.flags = AI_ADDRCONFIG;
    sys::Lookup lookup(name);
    pollfd waits[] = {{lookup.answered().get(), POLLIN, 0}, {ended, POLLIN, 0}};
    if (!lookup.is_answered()) ::poll(waits, 2, milliseconds_until(deadline));
    if (!lookup.is_answered()) return tl::unexpected(failed(target, "timed out"));
    found = lookup.take();
  }
  if (found.error != 0) return tl::unexpected(failed(target, found.why));
  return std::move(found.addresses);
}

namespace {

constexpr int kBacklog = 1024;
constexpr std::chrono::milliseconds kPause{500};  // pause before the next lookup of a name
// An address of no machine (RFC 5737): its route is the route to the network.
constexpr const char* kElsewhere = "192.0.2.1";

tl::unexpected<Error> cannot_listen(const Endpoint& where, std::string what, std::string why, std::string hint) {
  return fail({"--rendezvous " + to_string(where), std::move(what), std::move(why), std::move(hint)});
}

bool is_inner(const addrinfo& address) {
  const auto numeric = numeric_address(address.ai_addr);
  return numeric && is_loopback(*numeric);
}

/// Sets errno and returns an empty Fd on failure. `lingering`: also accepts a port with lingering closed connections.
sys::Fd listen_on(const addrinfo& address, bool lingering) {
  sys::Fd socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (socket && lingering) ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const bool good =
      socket && ::bind(socket.get(), address.ai_addr, address.ai_addrlen) == 0 && ::listen(socket.get(), kBacklog) == 0;
  return good ? std::move(socket) : sys::Fd();
}

int port_of(const sys::Fd& socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

/// Listens on the first address of the list that belongs to this machine. If there is no such address, `error` is the
/// reason.
std::optional<ListeningSocket> listen_on_one(const addrinfo* list, int port, bool loopback, int& error) {
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    if (!loopback && is_inner(*each)) continue;
    if (sys::Fd socket = listen_on(*each, true)) {
      return ListeningSocket{std::move(socket), {numeric_address(each->ai_addr).value_or(""), port}};
    }
    error = errno;
  }
  return std::nullopt;
}

/// Returns an empty list for an empty host name.
Result<sys::Addresses> addresses_of(const Endpoint& where, Time deadline, int ended) {
  while (!where.host.empty()) {
    auto found = resolve({.name = where.host, .port = where.port}, deadline, ended);
    if (found) return *std::move(found);
    pollfd polled{ended, POLLIN, 0};
    const bool over = ::poll(&polled, 1, static_cast<int>(kPause.count())) > 0 || Clock::now() >= deadline;
    if (over)
      return cannot_listen(where, found.error().what, found.error().why,
                           "use a name or address of node 0 known to all nodes");
  }
  return sys::Addresses();
}

/// `addresses`: of `where`. Returns nullopt on failure; `error` is the reason.
std::optional<ListeningSocket> listen_at(const Endpoint& where, const addrinfo* addresses, int& error) {
  const bool chosen =
      where.host == "localhost" || sys::look_up_numeric({.name = where.host, .port = where.port}).addresses;
  if (auto listener = listen_on_one(addresses, where.port, chosen, error)) return listener;
  if (error != 0) return std::nullopt;
  // No name, or a name that resolves to a loopback address on this machine.
  const sys::LookedUp ours = sys::look_up_numeric({.name = address_on_the_network(), .port = where.port});
  return listen_on_one(ours.addresses.get(), where.port, true, error);
}

tl::unexpected<Error> cannot_listen(const Endpoint& where, int error) {
  if (error == EADDRNOTAVAIL) {
    return cannot_listen(where, "cannot listen on this address", "not an address of this machine",
                         "use node 0's own address, or set --node-rank if this machine is another node");
  }
  return cannot_listen(
      where, "cannot listen on this address", std::strerror(error),
      error == EADDRINUSE ? "use another port: this port belongs to another program, or to a running node 0" : "");
}

}  // namespace

std::string address_on_the_network() {
  if (auto source = source_towards(kElsewhere)) return *std::move(source);
  const auto all = sys::interface_addresses();
  return all.empty() ? "127.0.0.1" : all.front().address;
}

Result<ListeningSocket> listen_for_nodes(const Endpoint& where, Time deadline, int ended) {
  const auto addresses = TRY(addresses_of(where, deadline, ended));
  int error = 0;
  auto listener = listen_at(where, addresses.get(), error);
  if (!listener) return cannot_listen(where, error);
  return *std::move(listener);
}

Result<std::optional<ListeningSocket>> listen_if_here(const Endpoint& where, const OwnNames& own, Time deadline,
                                                      int ended) {
  const auto addresses = TRY(addresses_of(where, deadline, ended));
  bool here = false;
  for (const addrinfo* each = addresses.get(); each != nullptr; each = each->ai_next) {
    here = here || is_this_machine(numeric_address(each->ai_addr).value_or(""), own, {});
  }
  if (!here) return std::nullopt;
  int error = 0;
  auto listener = listen_at(where, addresses.get(), error);
  if (!listener && error != EADDRINUSE) return cannot_listen(where, error);
  return listener;
}

/// A manager's program may search for a port of the range at the same time. If both sockets allow lingering
/// connections, both may get the same port, and srun (22.05) then assumes that all ports are used. So the first pass
/// does not allow lingering; the second pass does.
Result<ListeningSocket> listen_on_address(const std::string& address, PortRange ports) {
  const unsigned choices = static_cast<unsigned>(ports.last - ports.first) + 1;
  const unsigned start = static_cast<unsigned>(::getpid()) % choices;  // jobs start at different ports
  int error = EADDRINUSE;
  for (unsigned i = 0; i < 2 * choices && error == EADDRINUSE; ++i) {
    const int port = ports.first + static_cast<int>((start + i) % choices);
    const sys::LookedUp found = sys::look_up_numeric({.name = address, .port = port});
    if (!found.addresses) break;
    if (sys::Fd socket = listen_on(*found.addresses, i >= choices)) {
      const int got = port_of(socket);
      return ListeningSocket{std::move(socket), {address, got}};
    }
    error = errno;
  }
  std::string which = ports == PortRange{} ? "" : ", port " + std::to_string(ports.first);
  if (ports.first != ports.last) which += " to " + std::to_string(ports.last);
  return fail({"", "cannot listen on " + address + which, std::strerror(error), "", kExitHostLost});
}

std::string address_towards(const std::vector<std::string>& hosts, Time deadline, int ended) {
  constexpr size_t kMostAsked = 3;
  for (size_t i = 0; i < std::min(hosts.size(), kMostAsked); ++i) {
    const auto found = resolve({.name = hosts[i]}, deadline, ended);
    for (const addrinfo* each = found ? found->get() : nullptr; each != nullptr; each = each->ai_next) {
      if (is_inner(*each)) continue;
      if (auto source = source_towards(numeric_address(each->ai_addr).value_or(""))) {
        return *std::move(source);
      }
    }
  }
  return address_on_the_network();
}

}  // namespace dlaunch::net
