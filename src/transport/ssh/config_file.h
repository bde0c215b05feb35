// One parsed file of ssh_config(5): lines of a keyword and its words, with the files that they include. PURE.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "transport/ssh/config.h"

namespace dlaunch::transport::ssh {

struct ConfigLine {
  std::string keyword;             ///< in lower case
  std::vector<std::string> words;  ///< without quotes
  std::string rest;                ///< the whole value as written, for commands
  std::string where;               ///< "file:line"
  std::vector<std::shared_ptr<const ConfigFile>> included = {};
};

struct ConfigFile {
  std::vector<ConfigLine> lines;
};

/// One that does not exist is empty. One that others can write is refused where `ssh` does: the user's own, and all
/// that are included. `doubtful` gets those that their group can write.
Result<std::shared_ptr<const ConfigFile>> parse_config_file(const ConfigPath& path, const SshContext& context,
                                                            std::vector<std::string>& doubtful);

/// The Error for a file whose owner or permissions let others write it.
Error bad_permissions(const std::string& path);

/// Parses what `ssh -G` prints: an unquoted keyword and value on each line. `shared`: without the host's name.
std::shared_ptr<const ConfigFile> parse_config_answer(std::string_view text, bool shared);

/// "file:line: keyword value: why", also for a line that ssh refuses.
tl::unexpected<Error> wrong_line(const ConfigLine& line, std::string why);

/// Replaces a leading ~ or ~/… by the home directory.
std::string expand_home(std::string_view path, const std::string& home);

}  // namespace dlaunch::transport::ssh
