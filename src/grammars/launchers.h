// The launchers with their own option tables. PURE.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/grammar.h"
#include "dlaunch/error.h"
#include "grammars/launcher_line.h"

namespace dlaunch::cli {

/// Returns null for a grammar with dlaunch's options.
const LauncherSpec* launcher_of(Grammar grammar);

/// The error for an option of another launcher in dlaunch's own grammar: `spelled` "--tee", `name` "tee". Returns
/// nullopt if no launcher has the option.
std::optional<Error> option_of_launchers(const std::string& spelled, std::string_view name);

/// Returns the launcher's defaults as options of the weakest source.
std::vector<ParsedOption> defaults_of(const LauncherSpec& launcher);

// Translates command lines of DeepSpeed's launcher to dlaunch's own options. deepspeed/options.cpp has one row per
// option; docs/migrate/others.md is the page for users. PURE, except for the hostfile and .deepspeed_env.

const LauncherSpec& deepspeed_launcher();

/// LauncherSpec::make
Result<void> make_deepspeed_job(LauncherJob& job);

// Translates command lines of MindSpore's msrun to dlaunch's own options. msrun/msrun.cpp has one row per option;
// docs/migrate/others.md is the page for users. PURE.

const LauncherSpec& msrun_launcher();

/// LauncherSpec::make
Result<void> make_msrun_job(LauncherJob& job);

// Translates command lines of torchrun (python -m torch.distributed.run) and torch.distributed.launch to dlaunch's own
// options. torchrun/options.cpp has one row per option; docs/migrate/torchrun.md is the page for users. PURE.

const LauncherSpec& torchrun_launcher();
const LauncherSpec& torch_launch_launcher();

/// LauncherSpec::make of torchrun and of torch.distributed.launch.
Result<void> make_torchrun_job(LauncherJob& job);
Result<void> make_torch_launch_job(LauncherJob& job);

}  // namespace dlaunch::cli
