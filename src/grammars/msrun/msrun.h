// Translates command lines of MindSpore's msrun to dlaunch's own options. options.cpp has one row per option;
// docs/migrate/others.md is the page for users. PURE.
#pragma once

#include "grammars/launcher_line.h"

namespace dlaunch::cli {

const LauncherSpec& msrun_launcher();

/// LauncherSpec::make
Result<void> make_msrun_job(LauncherJob& job);

}  // namespace dlaunch::cli
