// What accelerate's configuration file says, as options below those that are typed. PURE, except for the file.
#pragma once

#include <string>

#include "cli/launcher_line.h"

namespace dlaunch::cli {

struct AccelerateConfig {
  bool found = false;            ///< there is a file
  std::string deepspeed_fields;  ///< names of its settings for DeepSpeed, with commas
};

/// The file of --config_file, else the one that `accelerate config` writes, where it is. Its settings go in front of
/// `line`'s options.
Result<AccelerateConfig> read_accelerate_config(LauncherJob& job, LauncherLine& line);

}  // namespace dlaunch::cli
