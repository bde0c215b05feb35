// IP addresses as text, without asking anybody. Pure.
#pragma once

#include <array>
#include <optional>
#include <string_view>

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

}  // namespace dlaunch::ranktable
