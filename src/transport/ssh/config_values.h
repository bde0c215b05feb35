// Values and keywords of ssh_config(5). PURE.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace dlaunch::transport::ssh {

/// Parses "90", "1m30s" or "2H"; a very long time is cut.
std::optional<int> parse_seconds(std::string_view text);

/// Parses "512", "64K" or "1G" to bytes.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// Whether this is one of OpenSSH's keywords, in lower case. Any other must be left to ssh: it refuses keywords that it
/// does not know either, unless IgnoreUnknown names them.
bool is_keyword(std::string_view word);

}  // namespace dlaunch::transport::ssh
