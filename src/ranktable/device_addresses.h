// The addresses of this machine's Ascend devices, asked of its driver. NOT pure, and a library of its own
// (ranktable_host): it runs hccn_tool and reads a file.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "ranktable/hccn.h"

namespace dlaunch::ranktable {

struct AddressSources {
  std::string hccn_conf = kHccnConf;  ///< for the devices of which hccn_tool says nothing
  std::chrono::milliseconds patience{10'000};
};

/// hccn_tool runs for all devices side by side. A device in neither source is missing from `by_device`.
DeviceAddresses read_device_addresses(const std::vector<long>& devices, const AddressSources& sources);

}  // namespace dlaunch::ranktable
