// Runs a planned job: wires output, transport, launcher and the ways to tell the user, then tells how it ended.
#pragma once

#include <functional>

#include "app/host_session.h"
#include "cli/options.h"
#include "dlaunch/plan.h"

namespace dlaunch::app {

/// The process's exit code, or why there is no job. The hosts of `ways` are the plan's, or none is open yet.
/// `before_start` is called when every host is ready, before the first rank starts. The plan grows by what ranks spawn.
Result<int> run_job(const cli::Options& options, plan::Plan& plan, HostSession& session,
                    const std::function<void()>& before_start);

}  // namespace dlaunch::app
