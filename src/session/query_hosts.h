// Queries hosts for missing slot numbers, before the plan is made.
#pragma once

#include <optional>

#include "dlaunch/host.h"
#include "dlaunch/hostfile.h"
#include "dlaunch/plan.h"
#include "session/host_session.h"

namespace dlaunch::session {

/// Connects to every host of the allocation, once for the whole job, and queries CPUs and devices of hosts without
/// configured slots. Returns the exit code of a failure; all unreachable hosts are reported together.
std::optional<int> find_slots(HostSession& session, plan::Allocation& allocation, const hosts::HostRequest& asked);

/// Keeps the open hosts of the plan, with the plan's numbers, and drops the others.
void keep_planned(HostSession& session, const plan::Allocation& opened, const plan::Plan& plan);

/// The Error for a signal before the start of the job.
Error interrupted_error(int signal);

}  // namespace dlaunch::session
