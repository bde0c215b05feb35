// How hosts are written, the same wherever a user writes one: `user@node[01-16,20]:8`. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch::allocate {

/// More hosts than this in one list is a slip of the hand, as node[1-99999999].
inline constexpr size_t kMostHosts = 100'000;

/// A name that may go into a connection, a file name and a line of output: letters, digits, '.', '-' and '_' with no
/// '-' first, or an IPv4 or IPv6 address. An Error without `where` otherwise. Never shortened, never looked up.
Result<void> check_host_name(std::string_view name);

/// "::1", "fd00::5", "fe80::1%eth0".
bool is_ipv6(std::string_view text);

/// A login name with nothing in it that a shell or an option parser would act on.
Result<void> check_user(std::string_view user);

/// The names that "node[01-16,20]" or "r[1-2]n[1-4]" stand for, in that order, each checked. A word without brackets is
/// itself. The width of a range's first number is kept: 01, 02, … 16.
Result<std::vector<std::string>> expand_names(std::string_view pattern);

struct HostWord {
  std::string user;                ///< empty: not said
  std::vector<std::string> names;  ///< one at least; IPv6 without brackets
  bool has_count = false;          ///< a ':' followed
  std::string count;               ///< what follows the ':', for the caller to read
};

/// "a", "a:8", "user@node[1-4]:8", "[::1]:4", "fd00::5" (a bare IPv6 address has no count).
Result<HostWord> parse_host_word(std::string_view word);

/// Parts between `separator`s that stand outside of brackets: "n[1,2],m" is "n[1,2]" and "m".
std::vector<std::string> split_outside_brackets(std::string_view text, char separator);

}  // namespace dlaunch::allocate
