// How Ascend's driver is asked about the devices, and what it answers: hccn_tool's output and /etc/hccn.conf. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dlaunch::ranktable {

inline constexpr const char* kHccnConf = "/etc/hccn.conf";

/// The words of a command.
using Command = std::vector<std::string>;

Command address_command(long device);
/// Sets the address that the device tries to reach from now on; net_health_command reports whether it does.
Command netdetect_command(long device, const std::string& address);
Command net_health_command(long device);

/// The status in "net health status: Success", such as "Fault"; none when there is no such line.
std::optional<std::string> parse_net_health(std::string_view output);

/// The result of a command.
struct Answer {
  std::string printed = {};
  int code = 0;  ///< as a shell gives it; kExitNotFound: there is no such program; kExitTimeout: it took too long
};

/// Why an answer lacks what it should hold: "not found in PATH", "exited with 1"; `lacks` when the command succeeded.
std::string trouble_of(const Answer& answer, const std::string& lacks);

struct DeviceAddresses {
  std::map<long, std::string> by_device = {};  ///< physical id
  std::string tool_trouble = {};  ///< why hccn_tool reported nothing for some device; empty: it did for all
  std::string conf_trouble = {};  ///< why the file did not help; empty: it did, or was not needed
};

/// tool[i] is the answer to address_command(devices[i]); `conf` is the text of hccn.conf, null when it cannot be read.
DeviceAddresses device_addresses(const std::vector<long>& devices, const std::vector<Answer>& tool,
                                 const std::string* conf);

/// The address in the output of `hccn_tool -i N -ip -g`, as in "ipaddr:192.168.100.101"; none when there is none.
std::optional<std::string> parse_hccn_tool(std::string_view output);

/// The `address_N=IP` lines of hccn.conf, by N; malformed addresses are left out.
std::map<long, std::string> parse_hccn_conf(std::string_view text);

}  // namespace dlaunch::ranktable
