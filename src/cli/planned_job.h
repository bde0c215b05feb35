// A job as it is planned: the plan, complete but for what other hosts have to say, and the ports that it holds.
#pragma once

#include "allocate/names.h"
#include "base/error.h"
#include "cli/options.h"
#include "cli/ways.h"
#include "plan/plan.h"
#include "sys/held_ports.h"

namespace dlaunch::cli {

struct PlannedJob {
  plan::Plan plan;
  sys::HeldPorts held;  ///< to be released right before the ranks start
};

/// `wait`: for name servers.
Result<PlannedJob> plan_job(const Options& options, const plan::Allocation& allocation,
                            const allocate::Names::Wait& wait);

/// --rank-table auto: asks the plan's hosts and adds the table; does nothing unless that is asked. Hosts that HCCL
/// would sort otherwise change places, with a note, and the job is planned anew, `ways` with it; unless the user said
/// which rank runs where. The hosts of `ways` are the plan's, or none yet.
Result<void> make_job_table(const Options& options, const plan::Allocation& allocation, Ways& ways, PlannedJob& job);

}  // namespace dlaunch::cli
