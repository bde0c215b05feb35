// More ranks than there is room for: when that refuses the plan, and when it only deserves a note.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/host.h"

namespace dlaunch::plan {

/// Why these numbers of ranks (one for each host) may not run without --oversubscribe, with a table of what was asked
/// and what is there; nullopt when they may.
std::optional<Error> refuse_overload(const Allocation& allocation, const std::vector<int>& ranks_per_host);

/// max_slots is a hard limit: --oversubscribe does not lift it. `ranks` are those asked, of which some may have found
/// no host.
std::optional<Error> refuse_over_max_slots(const Allocation& allocation, const std::vector<int>& ranks_per_host,
                                           long ranks);

/// Whether a host has more of these ranks than slots.
bool any_crowded(const Allocation& allocation, const std::vector<int>& ranks_per_host);

/// A line for shared devices and a line for shared CPUs, where ranks share them.
std::vector<std::string> overload_remarks(const Allocation& allocation, const std::vector<int>& ranks_per_host);

}  // namespace dlaunch::plan
