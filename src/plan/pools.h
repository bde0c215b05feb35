// Programs with host lists of their own (`a -H x : -H y b`): each is placed on its own list, as if it were a job by
// itself, and the ranks are numbered through in the order of the programs. Pure.
#pragma once

#include "plan/assign.h"

namespace dlaunch::plan {

/// For an allocation that has pools. As assign(); a rankfile does not go with them.
Result<Assignment> assign_in_pools(const Request& request, const Allocation& allocation);

}  // namespace dlaunch::plan
