// accelerate's configuration file: the part of YAML that `accelerate config` writes. PURE.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch::cli {

/// KEY: VALUE, or one below `SECTION:`.
struct AccelerateSetting {
  std::string section;  ///< "fsdp_config"; empty: none
  std::string key;
  std::string value;  ///< as Python shows it: "True" for true
  std::string where;  ///< "FILE:3"
};

/// Scalars, quoted or plain, in sections one level deep. What is null or an empty list is left out; other YAML is
/// refused.
Result<std::vector<AccelerateSetting>> parse_accelerate_config(std::string_view text, const std::string& path);

}  // namespace dlaunch::cli
