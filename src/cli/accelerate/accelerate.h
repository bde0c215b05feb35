// The lines of accelerate launch, as dlaunch's own options. options.cpp has a row for each of its options, settings.cpp
// the variables that scripts get; docs/migrate/others.md is the user's side. PURE, except for the
// configuration file.
#pragma once

#include <string>
#include <vector>

#include "cli/launcher_line.h"

namespace dlaunch::cli {

const LauncherSpec& accelerate_launcher();
/// The same without the word `launch`: accelerate-launch, python -m accelerate.commands.launch.
const LauncherSpec& accelerate_launch_launcher();

/// LauncherSpec::make
Result<void> make_accelerate_job(LauncherJob& job);

/// How accelerate starts a script; each way has variables of its own.
struct AcceleratePlugins {
  bool alone = false;  ///< one process without a launcher of torch's
  bool deepspeed = false;
  bool fsdp = false;
  bool megatron = false;
  bool parallelism = false;
  std::string deepspeed_fields;  ///< names of a configuration file's settings for DeepSpeed, with commas
};

/// The ACCELERATE_… variables and the like for what `line` says.
void add_accelerate_settings(LauncherJob& job, const LauncherLine& line, const AcceleratePlugins& plugins);

/// The plugin's flag without which the option says nothing; empty: none.
std::string_view accelerate_plugin_of(std::string_view option);

}  // namespace dlaunch::cli
