// The addresses of this machine's Ascend devices, as its driver reports them. NOT pure, and a library of its own
// (ranktable_host): it runs hccn_tool and reads a file.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "ranktable/hccn.h"

namespace dlaunch::ranktable {

struct AddressSources {
  std::string hccn_conf = kHccnConf;  ///< for devices of which hccn_tool reports none
  std::chrono::milliseconds patience{10'000};
};

/// Runs hccn_tool for all devices side by side. `by_device` lacks a device that neither source has.
DeviceAddresses read_device_addresses(const std::vector<long>& devices, const AddressSources& sources);

}  // namespace dlaunch::ranktable
