// Written internet addresses, and the AddressFamily of ssh_config(5). PURE.
#pragma once

#include <string_view>

namespace dlaunch {

enum class AddressFamily { any, inet, inet6 };

/// "::1", "fd00::5", "fe80::1%eth0"; without brackets.
bool is_ipv6(std::string_view text);

/// 127.* or ::1, in the form of inet_ntop.
bool is_loopback(std::string_view address);

}  // namespace dlaunch
