// The rendezvous of a job with --env-for: adds it to the plan, and reserves its ports that are on this machine.
#pragma once

#include "allocate/name_resolver.h"
#include "dlaunch/error.h"
#include "dlaunch/plan.h"
#include "sys/reserved_ports.h"

namespace dlaunch::app {

/// The ports must be released right before the ranks start. `wait` is for name servers.
Result<sys::ReservedPorts> arrange_rendezvous(plan::Plan& plan, const allocate::NameResolver::Wait& wait);

}  // namespace dlaunch::app
