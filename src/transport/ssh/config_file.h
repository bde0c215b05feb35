// A parsed file of ssh_config(5): lines with a keyword and its words, and the included files. PURE.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "transport/ssh/config.h"

namespace dlaunch::transport::ssh {

// Patterns in ssh's files. PURE.

/// * * matches any number of characters, ? matches one character.
bool matches_pattern(std::string_view text, std::string_view pattern);

/// True if a pattern matches and no pattern with a leading ! matches.
bool matches_patterns(std::string_view text, const std::vector<std::string>& patterns);

std::string to_lower(std::string_view text);

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

/// Parses a file; a missing file counts as empty. Returns an Error for a file that other users can write, in the same
/// cases as `ssh`: the user's own file and all included files. Appends files writable by their group to `doubtful`.
Result<std::shared_ptr<const ConfigFile>> parse_config_file(const ConfigPath& path, const SshContext& context,
                                                            std::vector<std::string>& doubtful);

/// The Error for a file with an owner or permissions that let other users write the file.
Error bad_permissions(const std::string& path);

/// Parses the output of `ssh -G`: an unquoted keyword and value per line. `shared`: skips the host name.
std::shared_ptr<const ConfigFile> parse_config_answer(std::string_view text, bool shared);

/// The Error "file:line: keyword value: why", also for lines that ssh refuses.
tl::unexpected<Error> wrong_line(const ConfigLine& line, std::string why);

/// Replaces a leading ~ or ~/… by the home directory.
std::string expand_home(std::string_view path, const std::string& home);

}  // namespace dlaunch::transport::ssh
