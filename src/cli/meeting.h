// Where the ranks of a job with --env-for meet: adds it to the plan, and holds the ports that are on this machine.
#pragma once

#include "allocate/names.h"
#include "base/error.h"
#include "plan/plan.h"
#include "sys/held_ports.h"

namespace dlaunch::cli {

/// The ports are to be released right before the ranks start. `wait`: for name servers.
Result<sys::HeldPorts> arrange_meeting(plan::Plan& plan, const allocate::Names::Wait& wait);

}  // namespace dlaunch::cli
