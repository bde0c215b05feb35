// This machine as an allocation: its name, usable CPUs, and devices without those that the user hid.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "allocate/machine.h"
#include "dlaunch/error.h"
#include "dlaunch/host.h"

namespace dlaunch::allocate {

/// What slots are where nobody gives them: CPUs, which are hardware threads, or their cores.
enum class Count { cpus, cores };

/// Pure. `environment` has NAME=VALUE entries, of which *_VISIBLE_DEVICES are read. `fake_devices` (--fake-devices)
/// replaces all real devices, and only a list of their numbers hides any of them; with 0 the machine has none.
plan::Allocation allocation_from(const MachineFacts& facts, const std::vector<std::string>& environment,
                                 std::optional<int> fake_devices);

/// Looks at this machine and makes its allocation.
Result<plan::Allocation> local_allocation(const std::vector<std::string>& environment, std::optional<int> fake_devices,
                                          Count count = Count::cpus);

}  // namespace dlaunch::allocate
