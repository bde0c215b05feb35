// dlaunch/hostfile.h for callers that know the system around this process.
#pragma once

#include "dlaunch/hostfile.h"
#include "place/place.h"

namespace dlaunch::hosts {

bool names_no_host(const HostRequest& request, const place::Place& place);
Result<plan::Allocation> choose_allocation(const HostRequest& request, const place::Place& place,
                                           const std::vector<std::string>& environment);

}  // namespace dlaunch::hosts
