// Adds the rendezvous of a job with --env-for to the plan, and reserves its ports on this machine.
#pragma once

#include "dlaunch/error.h"
#include "dlaunch/plan.h"
#include "net/this_machine.h"
#include "sys/reserved_ports.h"

namespace dlaunch::session {

/// Release the ports right before the ranks start. `wait` is called while name servers are queried.
Result<sys::ReservedPorts> arrange_rendezvous(plan::Plan& plan, const net::NameResolver::Wait& wait);

}  // namespace dlaunch::session
