// The addresses of this machine's Ascend devices, asked of its driver. NOT pure, and a library of its own
// (ranktable_host): it runs hccn_tool and reads a file.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace dlaunch::ranktable {

struct AddressSources {
  std::string hccn_tool = "hccn_tool";       ///< looked for in PATH
  std::string hccn_conf = "/etc/hccn.conf";  ///< for the devices of which hccn_tool says nothing
  std::chrono::milliseconds patience{10'000};
};

struct DeviceAddresses {
  std::map<long, std::string> by_device;  ///< physical id
  std::string tool_trouble;               ///< why hccn_tool said nothing of some device; empty: none
  std::string conf_trouble;               ///< why the file did not help; empty: it did, or was not needed
};

/// hccn_tool runs for all devices side by side. A device in neither source is missing from `by_device`.
DeviceAddresses read_device_addresses(const std::vector<long>& devices, const AddressSources& sources);

}  // namespace dlaunch::ranktable
