// Reads the addresses of this machine's Ascend devices from hccn_tool and hccn.conf.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "ascend/tables/hccn.h"

namespace dlaunch::ascend {

struct AddressSources {
  std::string hccn_conf = ranktable::kHccnConf;  ///< for devices without an address from hccn_tool
  std::chrono::milliseconds patience{10'000};
};

/// Runs hccn_tool for all devices at the same time. `by_device` omits a device if neither hccn_tool nor hccn.conf has
/// its address.
ranktable::DeviceAddresses read_device_addresses(const std::vector<long>& devices, const AddressSources& sources);

}  // namespace dlaunch::ascend
