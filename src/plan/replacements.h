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

/// Moves the ranks of a host to the first of the plan's replacements with the same devices and `usable[index]`. The
/// ranks keep all values except the name of the host. Returns the former index of the replacement; later
/// indices decrease by one. nullopt without a matching replacement.
std::optional<int> replace_host(Plan& plan, int host, int round, const std::vector<bool>& usable);

}  // namespace dlaunch::plan
