// Translates command lines of DeepSpeed's launcher to dlaunch's own options. options.cpp has one row per option;
// docs/migrate/others.md is the page for users. PURE, except for the hostfile and .deepspeed_env.
#pragma once

#include "grammars/launcher_line.h"

namespace dlaunch::cli {

const LauncherSpec& deepspeed_launcher();

/// LauncherSpec::make
Result<void> make_deepspeed_job(LauncherJob& job);

}  // namespace dlaunch::cli
