// dlaunch/hostfile.h for callers that know the system around this process.
#pragma once

#include "dlaunch/hostfile.h"
#include "place/place.h"

namespace dlaunch::hosts {

/// `manager`: place::find_manager(environment), found once.
bool names_no_host(const HostRequest& request, const place::Found& manager);
Result<plan::Allocation> choose_allocation(const HostRequest& request, const place::Found& manager,
                                           const std::vector<std::string>& environment, const ReadText& read_file);

}  // namespace dlaunch::hosts
