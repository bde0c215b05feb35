// Completion of a command line in a shell. A script in the shell (scripts.cpp) runs `dlaunch __complete WORDS…` at each
// Tab, and reads the text of to_text(). PURE, except for the hostfile and the config file: ProcessContext::read_file
// reads them. A wrong line has no candidates and no error.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cli/option_parser.h"
#include "cli/option_spec.h"
#include "dlaunch/error.h"

namespace dlaunch::completion {

struct Candidate {
  std::string word;   ///< the whole word, with the part before the cursor
  std::string about;  ///< one line; may be empty
};

struct Completion {
  std::vector<Candidate> candidates = {};
  /// The words that the shell adds: "files", "directories", or "program 3", the program at position 3 of the line and
  /// its own words. dlaunch is at 0.
  std::string by_shell = {};
};

struct Sources {
  cli::ProcessContext context;                     ///< without Place
  std::vector<cli::CommandSpec> commands = {};     ///< subcommands with their own options
  std::function<std::vector<std::string>()> jobs;  ///< ids of the running jobs
};

/// `words`: the words after `dlaunch` up to the cursor. The last word may be empty.
Completion complete(std::span<const std::string> words, const Sources& sources);

/// One line per candidate, "WORD\tABOUT"; then ':' and by_shell.
std::string to_text(const Completion& completion);

/// `dlaunch completion WORDS`: the script of bash, zsh or fish, or the text of --help.
Result<std::string> script_for(std::span<const std::string> words);

/// The names of the shells.
std::vector<std::string> shells();

}  // namespace dlaunch::completion
