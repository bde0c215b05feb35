// Checks for more ranks than slots or devices: rejects the plan or adds a remark.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/host.h"

namespace dlaunch::plan {

/// The error if these ranks per host require --oversubscribe, with a table of requested and available slots or devices;
/// nullopt if they do not.
std::optional<Error> refuse_overload(const Allocation& allocation, const std::vector<int>& ranks_per_host);

/// The error if ranks exceed max_slots, a hard limit even with --oversubscribe; else nullopt. `ranks` is the requested
/// number; some of these ranks may be without a host.
std::optional<Error> refuse_over_max_slots(const Allocation& allocation, const std::vector<int>& ranks_per_host,
                                           long ranks);

/// Whether a host has more of these ranks than slots.
bool any_crowded(const Allocation& allocation, const std::vector<int>& ranks_per_host);

/// A line about shared devices and a line about shared CPUs, if ranks share them.
std::vector<std::string> overload_remarks(const Allocation& allocation, const std::vector<int>& ranks_per_host);

}  // namespace dlaunch::plan
