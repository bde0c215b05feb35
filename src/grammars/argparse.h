// Splits words as Python's argparse does, for launchers with an argparse command line. PURE.
//
// - A long name, or a word after a single dash ("-np"), may be shortened if the result is unambiguous. An exact name
//   wins.
// - "-r3" and "-r=3" mean "-r 3". Flags may share a dash. A value may begin with '-' only after '=', or as a number.
// - The program is the first word that is neither an option nor a value. All words after the program are arguments.
// - "--" ends the options. Without a "--" before the program, a "--" directly after the program is removed, as in
//   Python 3.11.
//
// For LauncherSpec::getopt the rules are those of getopt_long(): "-n4" and "-n 4", but not "-n=4". A value is the next
// word, even with a leading dash; an optional value is attached. A "--" after the program is kept.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "grammars/launcher_line.h"

namespace dlaunch::cli {

/// Returns the words in the grammar of cli/option_parser.h: "--name" or "--name=VALUE" with the first name of each
/// option, then "--" and the program.
Result<std::vector<std::string>> read_argparse(const LauncherSpec& launcher, std::span<const std::string> words);

}  // namespace dlaunch::cli
