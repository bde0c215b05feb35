#include "net/tcp.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/time.h"
#include "base/try.h"
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

}  // namespace dlaunch::net
