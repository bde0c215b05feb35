// Translates command lines of accelerate launch to dlaunch's own options. options.cpp has one row per option,
// settings.cpp the variables for scripts; docs/migrate/others.md is the page for users. PURE, except for the
// configuration file.
#pragma once

#include <string>

#include "grammars/launcher_line.h"

namespace dlaunch::cli {

const LauncherSpec& accelerate_launcher();
/// accelerate-launch and python -m accelerate.commands.launch: no word `launch` before the options.
const LauncherSpec& accelerate_launch_launcher();

/// LauncherSpec::make
Result<void> make_accelerate_job(LauncherJob& job);

/// The plugins in use. Each plugin has its own variables.
struct AcceleratePlugins {
  bool alone = false;  ///< one process, not started as torchrun does
  bool deepspeed = false;
  bool fsdp = false;
  bool megatron = false;
  bool parallelism = false;
  std::string deepspeed_fields;  ///< DeepSpeed's keys of the configuration file, joined with commas
};

/// Adds the variables for the options of `line`: ACCELERATE_…, FSDP_…, MEGATRON_LM_… and others.
void add_accelerate_settings(LauncherJob& job, const LauncherLine& line, const AcceleratePlugins& plugins);

/// The flag of the plugin that the option requires; empty: the option works without a plugin.
std::string_view accelerate_plugin_of(std::string_view option);

// Translates accelerate's configuration file to options. Options of the command line override these options. PURE,
// except for the file.

struct AccelerateConfig {
  bool found = false;            ///< the file exists
  std::string deepspeed_fields;  ///< DeepSpeed's keys of the file, joined with commas
};

/// Reads the file of --config_file, else the file of `accelerate config` if the file exists. Inserts the settings at
/// the front of `line`'s options.
Result<AccelerateConfig> read_accelerate_config(LauncherJob& job, LauncherLine& line);

}  // namespace dlaunch::cli
