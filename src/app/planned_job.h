// A job's plan, complete except for what other hosts must answer, and the ports that it reserves.
#pragma once

#include "allocate/name_resolver.h"
#include "app/host_session.h"
#include "cli/options.h"
#include "dlaunch/error.h"
#include "dlaunch/plan.h"
#include "sys/reserved_ports.h"

namespace dlaunch::app {

struct PlannedJob {
  plan::Plan plan;
  sys::ReservedPorts held;  ///< to be released right before the ranks start
};

/// `wait` is for name servers.
Result<PlannedJob> plan_job(const cli::Options& options, const plan::Allocation& allocation,
                            const allocate::NameResolver::Wait& wait);

/// --shrink: the plan of the same job on the hosts of `before` less those whose numbers are in `lost`, in their order.
/// Each program has as many ranks less as it had there.
Result<plan::Plan> plan_without(const cli::Options& options, const plan::Allocation& allocation,
                                const plan::Plan& before, const std::vector<int>& lost,
                                const allocate::NameResolver::Wait& wait);

/// --rank-table auto: asks the plan's hosts and adds the table; otherwise does nothing. When HCCL would sort the hosts
/// differently, the job is planned again with them in HCCL's order, with a note, and the session is renumbered, unless
/// the user said which rank runs where. The session has the plan's hosts open, or none.
Result<void> make_job_table(const cli::Options& options, const plan::Allocation& allocation, HostSession& session,
                            PlannedJob& job);

}  // namespace dlaunch::app
