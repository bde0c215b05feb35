// Runs a planned job: wires output, transport, launcher and the ways to tell the user, then tells how it ended.
#pragma once

#include "cli/options.h"
#include "cli/ways.h"
#include "plan/plan.h"

namespace dlaunch::cli {

/// The process's exit code. The hosts of `ways` are the plan's, or none is open yet.
int run_job(const Options& options, const plan::Plan& plan, Ways& ways);

}  // namespace dlaunch::cli
