// More ranks than slots or devices: when the plan is refused, and when it only gets a remark.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/host.h"

namespace dlaunch::plan {

/// Why this number of ranks on each host needs --oversubscribe, with a table of what was asked and what is there;
/// nullopt when it does not.
std::optional<Error> refuse_overload(const Allocation& allocation, const std::vector<int>& ranks_per_host);

/// Why ranks exceed max_slots, a hard limit that --oversubscribe does not lift; nullopt when they do not. `ranks` is
/// the number asked for, of which some may have found no host.
std::optional<Error> refuse_over_max_slots(const Allocation& allocation, const std::vector<int>& ranks_per_host,
                                           long ranks);

/// Whether a host has more of these ranks than slots.
bool any_crowded(const Allocation& allocation, const std::vector<int>& ranks_per_host);

/// A line about shared devices and a line about shared CPUs, where ranks share them.
std::vector<std::string> overload_remarks(const Allocation& allocation, const std::vector<int>& ranks_per_host);

}  // namespace dlaunch::plan
