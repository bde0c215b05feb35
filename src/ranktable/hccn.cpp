#include "ranktable/hccn.h"

#include "base/text.h"
#include "ranktable/address.h"

namespace dlaunch::ranktable {

std::optional<std::string> parse_hccn_tool(std::string_view output) {
  for (const std::string& line : split(output, '\n')) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || !trim(line).starts_with("ipaddr")) continue;
    const std::string_view value = trim(std::string_view(line).substr(colon + 1));
    if (parse_address(value)) return std::string(value);
  }
  return std::nullopt;
}

std::map<long, std::string> parse_hccn_conf(std::string_view text) {
  constexpr std::string_view prefix = "address_";
  std::map<long, std::string> addresses;
  for (const std::string& raw : split(text, '\n')) {
    const std::string_view line = trim(raw);
    const size_t equals = line.find('=');
    if (!line.starts_with(prefix) || equals == std::string_view::npos) continue;
    const auto device = parse_int(trim(line.substr(prefix.size(), equals - prefix.size())), 0, 65535);
    const std::string_view value = trim(line.substr(equals + 1));
    if (device && parse_address(value)) addresses[*device] = value;
  }
  return addresses;
}

}  // namespace dlaunch::ranktable
