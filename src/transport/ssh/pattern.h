// Patterns in ssh's files. PURE.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::transport::ssh {

/// * stands for any number of characters, ? for one.
bool matches_pattern(std::string_view text, std::string_view pattern);

/// Whether one pattern matches and none that begins with ! does.
bool matches_patterns(std::string_view text, const std::vector<std::string>& patterns);

std::string to_lower(std::string_view text);

}  // namespace dlaunch::transport::ssh
