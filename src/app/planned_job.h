// A job as it is planned: the plan, complete but for what other hosts have to say, and the ports that it holds.
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

/// `wait`: for name servers.
Result<PlannedJob> plan_job(const cli::Options& options, const plan::Allocation& allocation,
                            const allocate::NameResolver::Wait& wait);

/// --rank-table auto: asks the plan's hosts and adds the table; does nothing unless that is asked. Hosts that HCCL
/// would sort otherwise change places, with a note, and the job is planned anew, `ways` with it; unless the user said
/// which rank runs where. The hosts of `ways` are the plan's, or none yet.
Result<void> make_job_table(const cli::Options& options, const plan::Allocation& allocation, HostSession& session,
                            PlannedJob& job);

}  // namespace dlaunch::app
