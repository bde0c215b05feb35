// Plans a job, complete except for data from other hosts, and reserves its ports; plans the job again without lost
// hosts; adds the rank table.
#pragma once

#include "cli/options.h"
#include "dlaunch/error.h"
#include "dlaunch/plan.h"
#include "net/this_machine.h"
#include "session/host_session.h"
#include "session/rendezvous.h"

namespace dlaunch::app {

using session::PlannedJob;

/// `wait` is called while name servers are queried.
Result<PlannedJob> plan_job(const cli::Options& options, const plan::Allocation& allocation,
                            const net::NameResolver::Wait& wait);

/// --shrink: the plan of the same job on the hosts of `before` except the hosts numbered in `lost`, in the same order.
/// Each program loses the ranks that it had on these hosts.
Result<plan::Plan> plan_without(const cli::Options& options, const plan::Allocation& allocation,
                                const plan::Plan& before, const std::vector<int>& lost,
                                const net::NameResolver::Wait& wait);

/// --rank-table auto: queries the plan's hosts and returns the job with the rank table; otherwise returns the job. If
/// HCCL would sort the hosts differently, plans the job again in HCCL's order, with a note, and renumbers the session,
/// unless the user set which rank runs where. The session is connected to all hosts of the plan, or to no host.
Result<PlannedJob> with_job_table(const cli::Options& options, const plan::Allocation& allocation,
                                  session::HostSession& session, PlannedJob job);

}  // namespace dlaunch::app
