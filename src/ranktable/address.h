// IP addresses as text, without asking anybody, and by which of them a rank table names a host. Pure.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::ranktable {

struct Address {
  std::array<unsigned char, 16> bytes{};  ///< an IPv4 address is in the first four
  bool v6 = false;
  auto operator<=>(const Address&) const = default;

  bool loopback() const;     ///< 127.*, ::1
  bool unspecified() const;  ///< 0.0.0.0, ::
};

/// "192.168.1.8" with no zeros in front, or an IPv6 address without a scope.
std::optional<Address> parse_address(std::string_view text);

struct OwnAddress {
  std::string interface = {};
  std::string address = {};
};

/// "eth0 10.0.0.1", as wire::HostInfo has it.
std::vector<OwnAddress> parse_interfaces(const std::vector<std::string>& interfaces);

/// Of the interfaces, those on networks that other hosts may be on too (not docker's and the like), IPv4 first.
std::vector<OwnAddress> outer_addresses(const std::vector<OwnAddress>& own);

struct HostAddresses {
  std::string name = {};                   ///< in the list of hosts
  std::vector<std::string> resolved = {};  ///< what the launcher takes the name for
  std::vector<OwnAddress> own = {};        ///< what the host says it has
};

/// Its name, where that is an address; else an address of its name, one that it has, too, if there is one; else the
/// first of its own. Never one that means the host only to itself, unless it is `alone` and has no other. None: not
/// known.
std::optional<std::string> server_id_of(const HostAddresses& host, bool alone);

}  // namespace dlaunch::ranktable
