// Spare hosts, those of --spares and those that a hostfile calls so: which they are, and how one takes a lost host's
// ranks. PURE.
#pragma once

#include <optional>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/host.h"
#include "dlaunch/plan.h"
#include "dlaunch/request.h"

namespace dlaunch::plan {

/// Whether hosts of the allocation are to be kept free.
bool has_replacements(const Request& request, const Allocation& allocation);

/// Takes the spare hosts out of the allocation: the last `request.spares`, and at least those that the hostfile calls
/// spare, which are the last ones. An Error where too few are left, or where each program has hosts of its own.
Result<std::vector<Host>> take_replacements(const Request& request, Allocation& allocation);

/// Gives the ranks of a host to the first of the plan's replacements that has the same devices, and is `usable` by its
/// index: they keep all that they have but the host's name. Returns that index, which the later ones move down to; none
/// where no replacement fits.
std::optional<int> replace_host(Plan& plan, int host, int round, const std::vector<bool>& usable);

}  // namespace dlaunch::plan
