// Chooses spare hosts (--spares and `spare` in a hostfile), and moves the ranks of a lost host to a spare host. Pure.
#pragma once

#include <optional>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/host.h"
#include "dlaunch/plan.h"
#include "dlaunch/request.h"

namespace dlaunch::plan {

/// Whether the job keeps hosts of the allocation free.
bool has_replacements(const Request& request, const Allocation& allocation);

/// Removes the spare hosts from the allocation and returns them: the last `request.spares` hosts, or more if the
/// hostfile marks more (marked hosts are last). An Error if too few hosts remain, or if programs have separate hosts.
Result<std::vector<Host>> take_replacements(const Request& request, Allocation& allocation);

/// The index of the first of the plan's replacements with the same devices as the host and `usable[index]`.
std::optional<int> find_replacement(const Plan& plan, int host, const std::vector<bool>& usable);

/// The plan after the ranks of a host moved to a replacement. The ranks keep all values except the name of the host.
/// Later replacements move down by one index.
Plan with_replacement(Plan plan, int host, int replacement, int round);

}  // namespace dlaunch::plan
