// Points in time in the form of RFC 3339, in UTC with microseconds: "2025-01-31T23:59:59.000123Z". PURE.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace dlaunch {

std::string rfc3339(std::int64_t realtime_ns);

/// Parses the output of rfc3339(). Returns nullopt for any other text.
std::optional<std::int64_t> parse_rfc3339(const std::string& text);

}  // namespace dlaunch
