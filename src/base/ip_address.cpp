#include "base/ip_address.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "base/printable.h"
#include "base/text.h"
#include "dlaunch/port_range.h"

namespace dlaunch {
namespace {

constexpr std::string_view kDecimalDigits = "0123456789";
constexpr std::string_view kHexDigits = "0123456789abcdefABCDEF";
constexpr std::string_view kZoneCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_";

bool consists_of(std::string_view text, std::string_view allowed) {
  return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos;
}

bool is_ipv4(std::string_view text) {
  const std::vector<std::string> parts = split(text, '.');
  return parts.size() == 4 && std::ranges::all_of(parts, [](const std::string& part) {
           return consists_of(part, kDecimalDigits) && part.size() <= 3 && parse_int(part, 0, 255);
         });
}

/// The number of groups on one side of "::" in an IPv6 address. An IPv4 tail counts as two. nullopt: malformed.
std::optional<size_t> ipv6_groups(std::string_view text) {
  if (text.empty()) return 0;
  const std::vector<std::string> groups = split(text, ':');
  size_t count = groups.size();
  for (size_t i = 0; i < groups.size(); ++i) {
    if (i + 1 == groups.size() && is_ipv4(groups[i])) {
      ++count;
    } else if (!consists_of(groups[i], kHexDigits) || groups[i].size() > 4) {
      return std::nullopt;
    }
  }
  return count;
}

bool is_host(std::string_view host) {
  const auto of_none = [](unsigned char c) { return c <= ' ' || c >= 127 || c == '[' || c == ']'; };
  if (host.empty() || host.front() == '-' || std::ranges::any_of(host, of_none)) return false;
  return host.find(':') == std::string_view::npos || is_ipv6(host);
}

}  // namespace

bool is_ipv6(std::string_view text) {
  const size_t zone = text.find('%');
  if (zone != std::string_view::npos && !consists_of(text.substr(zone + 1), kZoneCharacters)) return false;
  text = text.substr(0, zone);
  const size_t gap = text.find("::");
  if (gap == std::string_view::npos) return ipv6_groups(text) == 8;
  const auto before = ipv6_groups(text.substr(0, gap));
  const auto after = ipv6_groups(text.substr(gap + 2));
  return before && after && *before + *after <= 7;
}

bool is_loopback(std::string_view address) { return address.starts_with("127.") || address == "::1"; }

Result<Endpoint> parse_endpoint(std::string_view text) {
  const auto refused = [&] {
    return fail({.where = "",
                 .what = "invalid endpoint \"" + escaped(text) + '"',
                 .why = "expected HOST:PORT or [ADDRESS]:PORT",
                 .hint = "use a name or address of node 0 known to all nodes"});
  };
  Endpoint endpoint;
  std::string_view port;
  const size_t colon = text.rfind(':');
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return refused();
    endpoint.host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    if (!port.empty() && !port.starts_with(':')) return refused();
  } else if (colon != std::string_view::npos && text.find(':') == colon) {
    endpoint.host = text.substr(0, colon);
    port = text.substr(colon);
  } else {
    endpoint.host = text;  // several colons: an IPv6 address
  }
  if (!is_host(endpoint.host)) return refused();
  if (port.empty()) return endpoint;
  const auto number = parse_int(port.substr(1), 1, kMostPort);
  if (!number) return refused();
  endpoint.port = static_cast<int>(*number);
  return endpoint;
}

std::string to_string(const Endpoint& endpoint) {
  const bool v6 = endpoint.host.find(':') != std::string::npos;
  return (v6 ? '[' + endpoint.host + ']' : endpoint.host) + ':' + std::to_string(endpoint.port);
}

}  // namespace dlaunch
