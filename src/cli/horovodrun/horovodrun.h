// Horovod's horovodrun, as dlaunch's own options. options.cpp has a row for each of its options; docs/migrate/others.md is
// the user's side. PURE, except for the hostfile and the file of settings.
#pragma once

#include "cli/launcher_line.h"

namespace dlaunch::cli {

const LauncherSpec& horovodrun_launcher();

/// LauncherSpec::make
Result<void> make_horovodrun_job(LauncherJob& job);

/// The settings of --config-file that `line` does not say, as options in front of its own.
Result<void> read_horovod_config(LauncherJob& job, LauncherLine& line);

/// Adds the variables that Horovod reads its settings from, for the options of `line`.
Result<void> add_horovod_settings(LauncherJob& job, const LauncherLine& line);

}  // namespace dlaunch::cli
