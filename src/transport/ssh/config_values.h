// Parses values and keywords of ssh_config(5). PURE.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace dlaunch::transport::ssh {

/// Parses "90", "1m30s" or "2H" to seconds; very long times are cut.
std::optional<int> parse_seconds(std::string_view text);

/// Parses "512", "64K" or "1G" to bytes.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// True for a keyword of OpenSSH, in lower case. Other keywords must be left to ssh: ssh refuses unknown keywords,
/// unless IgnoreUnknown names them.
bool is_keyword(std::string_view word);

}  // namespace dlaunch::transport::ssh
