// Translates command lines of Horovod's horovodrun to dlaunch's own options. horovodrun.cpp has one row per option;
// docs/migrate/others.md is the page for users. PURE, except for the hostfile and the configuration file.
#pragma once

#include "grammars/launcher_line.h"

namespace dlaunch::cli {

const LauncherSpec& horovodrun_launcher();

/// LauncherSpec::make
Result<void> make_horovodrun_job(LauncherJob& job);

/// Inserts the settings of --config-file at the front of `line`'s options, except settings with an option in `line`.
Result<void> read_horovod_config(LauncherJob& job, LauncherLine& line);

/// Adds Horovod's variables for the options of `line`.
Result<void> add_horovod_settings(LauncherJob& job, const LauncherLine& line);

}  // namespace dlaunch::cli
