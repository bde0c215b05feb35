// Words as Python's argparse reads them, for the launchers that are written with it. PURE.
//
// A long name may be cut short where that is unambiguous; an exact name wins. So may a word after a single dash, "-np".
// "-r3" and "-r=3" are "-r 3", and flags may share a dash. A value begins with '-' only after '=' or as a number. The
// program is the first word that is no option and no option's value; all words after it are its own. "--" ends the
// options; without one there, a "--" straight after the program's name is left out, as Python 3.11 does it.
//
// LauncherSpec::getopt says that the launcher uses getopt_long() instead: "-n4" and "-n 4", of which "-n=4" is none; a
// value is the next word whatever it looks like, an optional one is attached; no "--" after the program is left out.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/launcher_line.h"
#include "dlaunch/error.h"

namespace dlaunch::cli {

/// The words in the grammar of cli/option_parser.h: "--name" or "--name=VALUE" with each option's first name, then "--"
/// and the program.
Result<std::vector<std::string>> read_argparse(const LauncherSpec& launcher, std::span<const std::string> words);

}  // namespace dlaunch::cli
