// Adds the rendezvous of a job with --env-for to the plan, and reserves its ports on this machine.
#pragma once

#include "dlaunch/error.h"
#include "dlaunch/plan.h"
#include "net/this_machine.h"
#include "sys/reserved_ports.h"

namespace dlaunch::session {

struct PlannedJob {
  plan::Plan plan;
  sys::ReservedPorts held;  ///< release right before the ranks start
};

/// The plan with its rendezvous. `wait` is called while name servers are queried.
Result<PlannedJob> with_rendezvous(plan::Plan plan, const net::NameResolver::Wait& wait);

}  // namespace dlaunch::session
