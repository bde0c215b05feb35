// Translates command lines of torchrun (python -m torch.distributed.run) and torch.distributed.launch to dlaunch's own
// options. options.cpp has one row per option; docs/migrate/torchrun.md is the page for users. PURE.
#pragma once

#include "grammars/launcher_line.h"

namespace dlaunch::cli {

const LauncherSpec& torchrun_launcher();
const LauncherSpec& torch_launch_launcher();

/// LauncherSpec::make of torchrun and of torch.distributed.launch.
Result<void> make_torchrun_job(LauncherJob& job);
Result<void> make_torch_launch_job(LauncherJob& job);

}  // namespace dlaunch::cli
