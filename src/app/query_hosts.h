// Asks hosts for the slots that nobody gave, before there is a plan.
#pragma once

#include <optional>

#include "app/host_session.h"
#include "dlaunch/host.h"
#include "dlaunch/hostfile.h"
#include "dlaunch/plan.h"

namespace dlaunch::app {

/// Connects to every host of the allocation, once for the whole job, and asks those whose slots nobody gave for their
/// CPUs and devices. Returns the exit code when that failed; all hosts that cannot be reached are reported together.
std::optional<int> find_slots(HostSession& session, plan::Allocation& allocation, const allocate::HostRequest& asked);

/// Keeps the open hosts that the plan uses, with the plan's numbers, and drops the others.
void keep_planned(HostSession& session, const plan::Allocation& opened, const plan::Plan& plan);

/// The Error when a signal ended it before anything was started.
Error interrupted_error(int signal);

}  // namespace dlaunch::app
