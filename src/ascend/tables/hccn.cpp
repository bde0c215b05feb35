#include "ascend/tables/hccn.h"

#include "ascend/tables/address.h"
#include "base/text.h"
#include "dlaunch/error.h"

namespace dlaunch::ranktable {

Command address_command(long device) { return {"hccn_tool", "-i", std::to_string(device), "-ip", "-g"}; }

Command netdetect_command(long device, const std::string& address) {
  return {"hccn_tool", "-i", std::to_string(device), "-netdetect", "-s", "address", address};
}

Command net_health_command(long device) { return {"hccn_tool", "-i", std::to_string(device), "-net_health", "-g"}; }

std::optional<std::string> parse_net_health(std::string_view output) {
  constexpr std::string_view kStart = "net health status:";
  for (const std::string& line : split(output, '\n')) {
    const std::string_view text = trim(line);
    if (!text.starts_with(kStart)) continue;
    const std::string_view status = trim(text.substr(kStart.size()));
    if (!status.empty()) return std::string(status);
  }
  return std::nullopt;
}

std::string trouble_of(const Answer& answer, const std::string& lacks) {
  if (answer.code == 0) return lacks;
  if (answer.code == kExitNotFound) return "not found in PATH";
  if (answer.code == kExitTimeout) return "timed out";
  if (answer.code == kExitNotExecutable) return "cannot run";
  if (answer.code > kSignalBase) return "killed by signal " + std::to_string(answer.code - kSignalBase);
  return "exited with " + std::to_string(answer.code);
}

DeviceAddresses device_addresses(const std::vector<long>& devices, const std::vector<Answer>& tool,
                                 const std::string* conf) {
  DeviceAddresses found;
  for (size_t i = 0; i < devices.size() && i < tool.size(); ++i) {
    const auto address = tool[i].code == kExitTimeout ? std::nullopt : parse_hccn_tool(tool[i].printed);
    if (address) {
      found.by_device[devices[i]] = *address;
    } else if (found.tool_trouble.empty()) {
      found.tool_trouble = trouble_of(tool[i], "missing address");
    }
  }
  if (found.tool_trouble.empty()) return found;
  if (!conf) {
    found.conf_trouble = "cannot read";
    return found;
  }
  const auto listed = parse_hccn_conf(*conf);
  for (const long device : devices) {
    const auto line = listed.find(device);
    if (line != listed.end()) found.by_device.emplace(device, line->second);
    if (!found.by_device.contains(device))
      found.conf_trouble = "missing key \"address_" + std::to_string(device) + "\"";
  }
  return found;
}

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
