// Reads the YAML subset of configuration files of `accelerate config` and Horovod's examples. PURE.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch::cli {

/// KEY: VALUE, at the top level or below `SECTION:`.
struct YamlSetting {
  std::string section;  ///< "fsdp_config"; empty: top level
  std::string key;
  std::string value;  ///< in Python's form: "True" for true
  std::string where;  ///< "FILE:3"
};

/// Reads quoted and plain scalars, at the top level and in sections one level deep. Skips null values and empty lists.
/// Any other YAML is an Error.
Result<std::vector<YamlSetting>> parse_yaml_settings(std::string_view text, const std::string& path);

}  // namespace dlaunch::cli
