// `dlaunch check --ascend`: tests the network between the hosts' Ascend devices with the driver's own tool.
//
// Each device detects its peer, the device with the same number on the next host of the list (the first host follows
// the last), and then reports its net health. With only one host the devices keep their earlier peers and only report.
#pragma once

#include "cli/options.h"
#include "dlaunch/error.h"
#include "dlaunch/host.h"
#include "session/host_session.h"

namespace dlaunch::ascend {

/// Prints the result and returns the exit code. The session is connected to all hosts of the allocation, or to no host.
Result<int> check_ascend(const cli::Options& options, const plan::Allocation& allocation,
                         session::HostSession& session);

}  // namespace dlaunch::ascend
