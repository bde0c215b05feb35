// How a user writes hosts, the same everywhere: `user@node[01-16,20]:8`. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch::allocate {

/// More hosts in one list are taken for a typing error, such as node[1-99999999].
inline constexpr size_t kMostHosts = 100'000;

/// Accepts a name that is safe in a connection, a file name and a line of output: letters, digits, '.', '-' and '_'
/// with no '-' first, or an IPv4 or IPv6 address. An Error has no `where`. Names are never shortened or resolved here.
Result<void> check_host_name(std::string_view name);

/// Accepts a login name that no shell or option parser would act on.
Result<void> check_user(std::string_view user);

/// The names that "node[01-16,20]" or "r[1-2]n[1-4]" stand for, in order, each checked. A word without brackets stands
/// for itself. Numbers have the width of their range's first: 01, 02, … 16.
Result<std::vector<std::string>> expand_names(std::string_view pattern);

struct HostWord {
  std::string user;                ///< empty: not said
  std::vector<std::string> names;  ///< at least one; IPv6 without brackets
  bool has_count = false;          ///< a ':' follows the host
  std::string count;               ///< what follows the ':', for the caller to parse
};

/// Parses "a", "a:8", "user@node[1-4]:8", "[::1]:4", "fd00::5" (a bare IPv6 address has no count).
Result<HostWord> parse_host_word(std::string_view word);

/// Splits at each `separator` outside brackets: "n[1,2],m" gives "n[1,2]" and "m".
std::vector<std::string> split_outside_brackets(std::string_view text, char separator);

}  // namespace dlaunch::allocate
