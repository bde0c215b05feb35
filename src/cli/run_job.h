// Runs a planned job: wires output, transport, launcher and the ways to tell the user, then tells how it ended.
#pragma once

#include "cli/options.h"
#include "plan/plan.h"

namespace dlaunch::cli {

/// The process's exit code.
int run_job(const Options& options, const plan::Plan& plan);

}  // namespace dlaunch::cli
