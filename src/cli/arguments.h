// The shape of a command line, without any option's meaning: which words are options, where programs begin and end.
//
// Rules, as mpirun's: long names have one dash or two. A value is the next word, whatever it looks like, or follows
// '='; -mca and the like take two words; a flag takes none, or =true or =false. The first word that is no option is the
// program, and everything after it is the program's, unchanged, up to a lone ':' that begins the next group. "--" ends
// a group's options. Empty groups are ignored.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/option_parser.h"
#include "dlaunch/error.h"

namespace dlaunch::cli {

struct Arguments {
  std::vector<Group> groups;            ///< at least one; the first holds the job's options
  const OptionSpec* show = nullptr;     ///< --help and the like: nothing after it was read
  std::vector<std::string> unset = {};  ///< variables of the environment that the job is to know nothing of
};

Result<Arguments> parse_arguments(std::span<const std::string> words);

/// Parses the lines of an --app file, a group each; ':' has no meaning in them.
Result<std::vector<Group>> parse_app_file(std::string_view text, const std::string& path);

}  // namespace dlaunch::cli
