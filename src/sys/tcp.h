// Connects by TCP to one of several addresses. Without lookups of names, so that the static agent can link it.
#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "dlaunch/error.h"
#include "sys/fd.h"

namespace dlaunch::sys {

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};
/// The address of a numeric host; nullopt: not numeric.
std::optional<SocketAddress> numeric_address(const std::string& host, int port);

struct TcpConnection {
  Fd socket;       ///< blocking; with TCP_NODELAY, keepalive and a limit of unsent bytes
  size_t address;  ///< its number in `addresses`
};
/// Attempts to the addresses start 250 ms apart; the first success wins. Returns the errno of a failure: ETIMEDOUT at
/// the deadline, ECANCELED if `ended` is readable, EINVAL without an address.
tl::expected<TcpConnection, int> connect_tcp(const std::vector<SocketAddress>& addresses, Time deadline, int ended);

}  // namespace dlaunch::sys
