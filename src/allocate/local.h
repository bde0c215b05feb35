// This machine as an allocation: its name, the CPUs that may be used, its devices less those that the user hid.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "allocate/machine.h"
#include "dlaunch/error.h"
#include "dlaunch/host.h"

namespace dlaunch::allocate {

/// What a machine's slots are, where nobody says: its CPUs, which are hardware threads, or their cores.
enum class Count { cpus, cores };

/// Pure. `environment` is NAME=VALUE entries, of which *_VISIBLE_DEVICES count. `fake_devices` (--fake-devices) stands
/// in for all real devices and is narrowed by nothing; 0 makes a machine without devices.
plan::Allocation allocation_from(const MachineFacts& facts, const std::vector<std::string>& environment,
                                 std::optional<int> fake_devices);

/// Looks at this machine and does the above.
Result<plan::Allocation> local_allocation(const std::vector<std::string>& environment, std::optional<int> fake_devices,
                                          Count count = Count::cpus);

}  // namespace dlaunch::allocate
