// Points in time as RFC 3339 writes them, in UTC with microseconds: "2025-01-31T23:59:59.000123Z". PURE.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace dlaunch {

std::string rfc3339(std::int64_t realtime_ns);

/// Parses what rfc3339() writes; nullopt for anything else.
std::optional<std::int64_t> parse_rfc3339(const std::string& text);

}  // namespace dlaunch
