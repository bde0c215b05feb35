// One file of ssh_config(5), parsed: lines of a keyword and its words, with the files that it includes in their place.
// PURE.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "transport/ssh/config.h"

namespace dlaunch::transport::ssh {

struct ConfigLine {
  std::string keyword;             ///< in lower case
  std::vector<std::string> words;  ///< without quotes
  std::string rest;                ///< all of it as it stands, for commands
  std::string where;               ///< "file:line"
  std::vector<std::shared_ptr<const ConfigFile>> included = {};
};

struct ConfigFile {
  std::vector<ConfigLine> lines;
};

/// `directory`: where relative names of included files begin.
Result<std::shared_ptr<const ConfigFile>> parse_config_file(const std::string& path, const std::string& directory,
                                                            const Surroundings& surroundings, int depth = 0);

/// ~ and ~/… at the beginning stand for the home directory.
std::string expand_home(std::string_view path, const std::string& home);

}  // namespace dlaunch::transport::ssh
