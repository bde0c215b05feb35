// How many ranks each host gets, and which rank goes to which host. Arithmetic on values, linear in hosts + ranks.
#pragma once

#include <vector>

#include "dlaunch/host.h"
#include "dlaunch/request.h"

namespace dlaunch::plan {

/// How many ranks each host takes before it is crowded: its devices where it has some (no more than the slots that the
/// user named), else its slots; never more than its max_slots. `only_devices`: hosts without devices take none.
std::vector<int> capacities(const Allocation& allocation, bool only_devices);

/// Ranks for each host. MapBy::node deals them out one by one; all else fills one host after the other. Ranks over the
/// sum of capacities are spread evenly over the hosts that have any capacity (over all hosts when none has), the first
/// hosts taking the remainder, as Open MPI does: 7 on {2,3} gives {3,4}. Where `most` is not empty no host gets more
/// ranks than it says, and ranks that fit nowhere are left out of the result.
std::vector<int> ranks_per_host(MapBy map_by, const std::vector<int>& capacity, int ranks,
                                const std::vector<int>& most = {});

/// The host of each rank, in rank order, as Hydra deals them: as many as its capacity to each host in turn, round after
/// round. Some capacity must be there.
std::vector<int> hosts_in_rounds(const std::vector<int>& capacity, int ranks);

/// The host of each rank, in rank order. Contiguous, or dealt round robin when map_by or rank_by says node.
std::vector<int> hosts_of_ranks(const BindingRequest& binding, const std::vector<int>& ranks_per_host);

}  // namespace dlaunch::plan
