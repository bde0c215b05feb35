// What Ascend's driver says of the devices: hccn_tool's output and /etc/hccn.conf, and how it is asked. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::ranktable {

inline constexpr const char* kHccnConf = "/etc/hccn.conf";

/// A command's words.
using Command = std::vector<std::string>;

Command address_command(long device);
/// Sets the address that the device tries to reach from now on; net_health_command asks whether it does.
Command netdetect_command(long device, const std::string& address);
Command net_health_command(long device);

/// "Success", "Fault", … in "net health status: Success"; none when it holds no such line.
std::optional<std::string> parse_net_health(std::string_view output);

/// What became of a command.
struct Answer {
  std::string printed = {};
  int code = 0;  ///< as a shell gives it; kExitNotFound: there is no such program; kExitTimeout: it took too long
};

/// Why an answer that should hold something does not: "not found in PATH", "exited with 1"; `lacks` when it ended well.
std::string trouble_of(const Answer& answer, const std::string& lacks);

struct DeviceAddresses {
  std::map<long, std::string> by_device = {};  ///< physical id
  std::string tool_trouble = {};               ///< why hccn_tool said nothing of some device; empty: none
  std::string conf_trouble = {};               ///< why the file did not help; empty: it did, or was not needed
};

/// tool[i] is the answer to address_command(devices[i]), `conf` hccn.conf; null: it cannot be read.
DeviceAddresses device_addresses(const std::vector<long>& devices, const std::vector<Answer>& tool,
                                 const std::string* conf);

/// The address in the output of `hccn_tool -i N -ip -g`: "ipaddr:192.168.100.101". None when it holds none.
std::optional<std::string> parse_hccn_tool(std::string_view output);

/// The `address_N=IP` lines of hccn.conf, by N; what is no address is left out.
std::map<long, std::string> parse_hccn_conf(std::string_view text);

}  // namespace dlaunch::ranktable
