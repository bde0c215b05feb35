// Translates accelerate's configuration file to options. Options of the command line override these options. PURE,
// except for the file.
#pragma once

#include <string>

#include "grammars/launcher_line.h"

namespace dlaunch::cli {

struct AccelerateConfig {
  bool found = false;            ///< the file exists
  std::string deepspeed_fields;  ///< DeepSpeed's keys of the file, joined with commas
};

/// Reads the file of --config_file, else the file of `accelerate config` if the file exists. Inserts the settings at
/// the front of `line`'s options.
Result<AccelerateConfig> read_accelerate_config(LauncherJob& job, LauncherLine& line);

}  // namespace dlaunch::cli
