// DeepSpeed's launcher, as dlaunch's own options. options.cpp has a row for each of its options; docs/migrate/others.md is
// the user's side. PURE, except for the hostfile and .deepspeed_env.
#pragma once

#include "cli/launcher_line.h"

namespace dlaunch::cli {

const LauncherSpec& deepspeed_launcher();

/// LauncherSpec::make
Result<void> make_deepspeed_job(LauncherJob& job);

}  // namespace dlaunch::cli
