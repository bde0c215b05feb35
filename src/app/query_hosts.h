// Before there is a plan: asks hosts whose slots nobody said.
#pragma once

#include <optional>

#include "app/host_session.h"
#include "dlaunch/host.h"
#include "dlaunch/hostfile.h"
#include "dlaunch/plan.h"

namespace dlaunch::app {

/// Opens every host of the allocation, so that each that gets ranks is connected to once, and asks those whose slots
/// nobody said for their CPUs and devices. Returns the exit code when that failed: all hosts that cannot be reached are
/// told together.
std::optional<int> find_slots(HostSession& session, plan::Allocation& allocation, const allocate::HostRequest& asked);

/// Of the hosts that were opened, those that the plan uses stay open, numbered as there.
void keep_planned(HostSession& session, const plan::Allocation& opened, const plan::Plan& plan);

/// That a signal ended it before anything was started.
Error interrupted_error(int signal);

}  // namespace dlaunch::app
