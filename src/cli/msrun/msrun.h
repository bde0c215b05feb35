// MindSpore's msrun, as dlaunch's own options. options.cpp has a row for each of its options; docs/migrate/others.md is the
// user's side. PURE.
#pragma once

#include "cli/launcher_line.h"

namespace dlaunch::cli {

const LauncherSpec& msrun_launcher();

/// LauncherSpec::make
Result<void> make_msrun_job(LauncherJob& job);

}  // namespace dlaunch::cli
