// Makes an allocation from this machine: its name, usable CPUs, and devices except those hidden by the user.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/host.h"
#include "machine/machine.h"

namespace dlaunch::machine {

/// The default for slots: CPUs (hardware threads), or their cores.
enum class Count { cpus, cores };

/// Pure. Reads *_VISIBLE_DEVICES of `environment` (NAME=VALUE entries). `fake_devices` (--fake-devices) replaces all
/// real devices; only a list of their numbers hides some of them; with 0 the machine has no devices.
plan::Allocation allocation_from(const MachineFacts& facts, const std::vector<std::string>& environment,
                                 std::optional<int> fake_devices);

/// Reads this machine's facts and makes its allocation.
Result<plan::Allocation> local_allocation(const std::vector<std::string>& environment, std::optional<int> fake_devices,
                                          Count count = Count::cpus);

}  // namespace dlaunch::machine
