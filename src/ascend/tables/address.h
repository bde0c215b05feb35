// Parses IP addresses without name resolution, and chooses the address of a host in a rank table. Pure.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::ranktable {

struct Address {
  std::array<unsigned char, 16> bytes{};  ///< an IPv4 address uses the first four bytes
  bool v6 = false;
  auto operator<=>(const Address&) const = default;

  bool loopback() const;     ///< 127.*, ::1
  bool unspecified() const;  ///< 0.0.0.0, ::
};

/// Parses "192.168.1.8" without leading zeros, or an IPv6 address without a scope.
std::optional<Address> parse_address(std::string_view text);

struct OwnAddress {
  std::string interface = {};
  std::string address = {};
};

/// Parses entries such as "eth0 10.0.0.1" of wire::HostInfo.
std::vector<OwnAddress> parse_interfaces(const std::vector<std::string>& interfaces);

/// The interfaces on networks shared with other hosts (not the docker bridge and similar), IPv4 first.
std::vector<OwnAddress> outer_addresses(const std::vector<OwnAddress>& own);

struct HostAddresses {
  std::string name = {};                   ///< as in the list of hosts
  std::vector<std::string> resolved = {};  ///< the addresses of the name, from the launcher's resolver
  std::vector<OwnAddress> own = {};        ///< the addresses of the host's interfaces
};

/// The address in the rank table, by preference: the host name if it is an address; a resolved address that is also an
/// interface address; another resolved address; an interface address. Loopback addresses are used only if `alone` is
/// set and no other address exists. nullopt: unknown.
std::optional<std::string> server_id_of(const HostAddresses& host, bool alone);

}  // namespace dlaunch::ranktable
