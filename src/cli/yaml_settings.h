// Configuration files of other launchers: the part of YAML that `accelerate config` and Horovod's examples write. PURE.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch::cli {

/// KEY: VALUE, or one below `SECTION:`.
struct YamlSetting {
  std::string section;  ///< "fsdp_config"; empty: none
  std::string key;
  std::string value;  ///< as Python shows it: "True" for true
  std::string where;  ///< "FILE:3"
};

/// Scalars, quoted or plain, in sections one level deep. What is null or an empty list is left out; other YAML is
/// refused.
Result<std::vector<YamlSetting>> parse_yaml_settings(std::string_view text, const std::string& path);

/// "FILE:3: KEY what; hint"
tl::unexpected<Error> refuse_setting(const YamlSetting& setting, std::string what, std::string hint);

}  // namespace dlaunch::cli
