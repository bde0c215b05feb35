// Parses host names from users, in one form everywhere: `user@node[01-16,20]:8`. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch::hosts {

/// A list with more hosts is a typing error, such as node[1-99999999].
inline constexpr size_t kMostHosts = 100'000;

/// Accepts names that are safe in a connection, a file name and a line of output: letters, digits, '.', '-' and '_'
/// without '-' at the start, or an IPv4 or IPv6 address. An Error has no `where`. Does not shorten or resolve names.
Result<void> check_host_name(std::string_view name);

/// Accepts a login name without special characters of shells and option parsers.
Result<void> check_user(std::string_view user);

/// Expands "node[01-16,20]" or "r[1-2]n[1-4]" to names, in order, and checks each name. Returns a word without brackets
/// unchanged. Numbers have the width of the first number in their range: 01, 02, … 16.
Result<std::vector<std::string>> expand_names(std::string_view pattern);

struct HostWord {
  std::string user;                ///< empty: not given
  std::vector<std::string> names;  ///< at least one; IPv6 without brackets
  bool has_count = false;          ///< a ':' after the host
  std::string count;               ///< text after the ':', for the caller to parse
};

/// Parses "a", "a:8", "user@node[1-4]:8", "[::1]:4", "fd00::5" (a bare IPv6 address has no count).
Result<HostWord> parse_host_word(std::string_view word);

/// Splits at each `separator` outside brackets: "n[1,2],m" becomes "n[1,2]" and "m".
std::vector<std::string> split_outside_brackets(std::string_view text, char separator);

}  // namespace dlaunch::hosts
