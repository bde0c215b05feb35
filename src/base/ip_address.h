// IP addresses and HOST:PORT in text form, and the AddressFamily of ssh_config(5). PURE.
#pragma once

#include <string>
#include <string_view>

#include "dlaunch/error.h"

namespace dlaunch {

enum class AddressFamily { any, inet, inet6 };

/// "::1", "fd00::5", "fe80::1%eth0"; without brackets.
bool is_ipv6(std::string_view text);

/// 127.* or ::1, in the form of inet_ntop.
bool is_loopback(std::string_view address);

/// HOST:PORT, as written for --rendezvous and in variables of other launchers.
struct Endpoint {
  /// torchrun's default port for its rendezvous; sites that open this port also serve dlaunch
  static constexpr int kUsualPort = 29400;

  std::string host;  ///< a name or an address, without brackets
  int port = kUsualPort;
  bool operator==(const Endpoint&) const = default;
};

/// Parses HOST, HOST:PORT, ADDRESS or [ADDRESS]:PORT. The Error has an empty `where`.
Result<Endpoint> parse_endpoint(std::string_view text);

std::string to_string(const Endpoint& endpoint);

}  // namespace dlaunch
