// Runs a planned job: wires output, transport, launcher and the ways to tell the user, then tells how it ended.
#pragma once

#include <functional>

#include "cli/options.h"
#include "plan/plan.h"

namespace dlaunch::cli {

/// The process's exit code. `before_start` is called when every host is ready, before the first rank starts.
int run_job(const Options& options, const plan::Plan& plan, const std::function<void()>& before_start);

}  // namespace dlaunch::cli
