// IP addresses as text, without name resolution, and the choice of the one that names a host in a rank table. Pure.
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

/// Parses "192.168.1.8" without leading zeros, or an IPv6 address without a scope.
std::optional<Address> parse_address(std::string_view text);

struct OwnAddress {
  std::string interface = {};
  std::string address = {};
};

/// Parses entries such as "eth0 10.0.0.1" of wire::HostInfo.
std::vector<OwnAddress> parse_interfaces(const std::vector<std::string>& interfaces);

/// The interfaces on networks that other hosts may share (not docker's and the like), IPv4 first.
std::vector<OwnAddress> outer_addresses(const std::vector<OwnAddress>& own);

struct HostAddresses {
  std::string name = {};                   ///< in the list of hosts
  std::vector<std::string> resolved = {};  ///< addresses that the launcher's resolver gives for the name
  std::vector<OwnAddress> own = {};        ///< addresses that the host reports
};

/// The host's name if it is an address; else an address of its name, preferably one that the host reports; else the
/// first that it reports. Never one by which a host reaches only itself, unless it is `alone` and has no other.
/// nullopt: unknown.
std::optional<std::string> server_id_of(const HostAddresses& host, bool alone);

}  // namespace dlaunch::ranktable
