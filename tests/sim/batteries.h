// The lists of worlds that are tried: every single fault, every ordered pair of faults, random worlds.
#pragma once

#include <cstdint>
#include <vector>

#include "scenario.h"

namespace sim {

/// Jobs without faults, as different as their rules: plain, with a timeout, restarts with spares, shrinking, …
std::vector<Scenario> base_worlds();
/// Each base world without a fault and with each single fault at each moment.
std::vector<Scenario> singles();
/// The number of ordered pairs of faults in all base worlds, and the pair with this number. The pairs with further
/// kinds of faults, in some of the worlds, come last.
std::uint64_t pair_count();
Scenario pair(std::uint64_t number);
/// One to four faults at random moments in a random job.
Scenario random_world(std::uint64_t seed);

}  // namespace sim
