// The shape of a command line: which words are options, where each program begins and ends. Knows no option's meaning.
//
// Rules, as mpirun's: long names have one dash or two; a value is the next word, whatever it looks like, or follows
// '='; -mca and its kin take two words; a flag takes none, or =true or =false; the first word that is no option is the
// program, and all after it is the program's, untouched, up to a lone ':' that begins the next group; "--" ends a
// group's options. Groups with nothing in them are passed over.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/option_parser.h"
#include "dlaunch/error.h"

namespace dlaunch::cli {

struct Arguments {
  std::vector<Group> groups;         ///< at least one; the first holds the job's options
  const OptionSpec* show = nullptr;  ///< --help and the like: nothing after it was read
};

Result<Arguments> parse_arguments(std::span<const std::string> words);

/// The lines of an --app file, a group each; ':' means nothing in them.
Result<std::vector<Group>> parse_app_file(std::string_view text, const std::string& path);

}  // namespace dlaunch::cli
