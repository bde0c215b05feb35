// The lines of torchrun (python -m torch.distributed.run) and of torch.distributed.launch, as dlaunch's own options.
// options.cpp has a row for each of theirs; docs/migrate/torchrun.md is the user's side. PURE.
#pragma once

#include "cli/launcher_line.h"

namespace dlaunch::cli {

const LauncherSpec& torchrun_launcher();
const LauncherSpec& torch_launch_launcher();

/// LauncherSpec::make of the two.
Result<void> make_torchrun_job(LauncherJob& job);
Result<void> make_torch_launch_job(LauncherJob& job);

}  // namespace dlaunch::cli
