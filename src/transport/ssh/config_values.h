// Values and keywords of ssh_config(5). PURE.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace dlaunch::transport::ssh {

/// "90", "1m30s", "2H"; what is very long is cut.
std::optional<int> parse_seconds(std::string_view text);

/// "512", "64K", "1G": bytes.
std::optional<std::uint64_t> parse_size(std::string_view text);

/// One of OpenSSH's keywords, in lower case. With any other in it a configuration is for ssh to judge: it refuses those
/// that it does not know itself, unless IgnoreUnknown names them.
bool is_keyword(std::string_view word);

}  // namespace dlaunch::transport::ssh
