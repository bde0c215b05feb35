// Commands for Ascend's driver tool, and parsers for their output and for /etc/hccn.conf. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::ranktable {

inline constexpr const char* kHccnConf = "/etc/hccn.conf";

/// A program and its arguments.
using Command = std::vector<std::string>;

Command address_command(long device);
/// Sets the address for the device's connection test; net_health_command reports the result.
Command netdetect_command(long device, const std::string& address);
Command net_health_command(long device);

/// The status in "net health status: Success", such as "Fault"; nullopt without such a line.
std::optional<std::string> parse_net_health(std::string_view output);

/// The result of a command.
struct Answer {
  std::string printed = {};
  int code = 0;  ///< as in a shell; kExitNotFound: program not found; kExitTimeout: timed out
};

/// The reason for a missing answer: "not found in PATH", "exited with 1"; `lacks` if the command succeeded.
std::string trouble_of(const Answer& answer, const std::string& lacks);

struct DeviceAddresses {
  std::map<long, std::string> by_device = {};  ///< physical id
  std::string tool_trouble = {};  ///< why hccn_tool reported no address of a device; empty: all devices have an address
  /// why hccn.conf does not have the address of a device; empty: success, or the file was not needed
  std::string conf_trouble = {};
};

/// tool[i] is the answer to address_command(devices[i]). `conf` is the text of hccn.conf; null: cannot be read.
DeviceAddresses device_addresses(const std::vector<long>& devices, const std::vector<Answer>& tool,
                                 const std::string* conf);

/// The address in the output of `hccn_tool -i N -ip -g`, such as "ipaddr:192.168.100.101"; nullopt if missing.
std::optional<std::string> parse_hccn_tool(std::string_view output);

/// The `address_N=IP` lines of hccn.conf, by N; malformed addresses are ignored.
std::map<long, std::string> parse_hccn_conf(std::string_view text);

}  // namespace dlaunch::ranktable
