// Patterns in ssh's files. PURE.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::transport::ssh {

/// * * matches any number of characters, ? matches one character.
bool matches_pattern(std::string_view text, std::string_view pattern);

/// True if a pattern matches and no pattern with a leading ! matches.
bool matches_patterns(std::string_view text, const std::vector<std::string>& patterns);

std::string to_lower(std::string_view text);

}  // namespace dlaunch::transport::ssh
