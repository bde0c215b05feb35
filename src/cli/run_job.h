// Runs a planned job: wires output, transport, launcher and the ways to tell the user, then tells how it ended.
#pragma once

#include <functional>

#include "cli/options.h"
#include "cli/ways.h"
#include "plan/plan.h"

namespace dlaunch::cli {

/// The process's exit code. The hosts of `ways` are the plan's, or none is open yet. `before_start` is called when
/// every host is ready, before the first rank starts.
/// The plan grows by what ranks spawn.
int run_job(const Options& options, plan::Plan& plan, Ways& ways, const std::function<void()>& before_start);

}  // namespace dlaunch::cli
