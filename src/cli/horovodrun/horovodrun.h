// Horovod's horovodrun, as dlaunch's own options. options.cpp has a row for each of its options; docs/horovodrun.md is
// the user's side. PURE, except for the hostfile.
#pragma once

#include "cli/launcher_line.h"

namespace dlaunch::cli {

const LauncherSpec& horovodrun_launcher();

/// LauncherSpec::make
Result<void> make_horovodrun_job(LauncherJob& job);

/// Adds the variables that Horovod reads its settings from, for the options that are given.
Result<void> add_horovod_settings(LauncherJob& job);

}  // namespace dlaunch::cli
