// The words after `dlaunch stacks`. PURE.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch::cli {

struct StacksCommand {
  std::string help = {};                ///< not empty: print this and do nothing else
  std::vector<std::string> words = {};  ///< as typed; none: the jobs of this machine are listed
  bool all = false;                     ///< all threads
};

/// The number of the process that a word names; nullopt: it is the id of a job.
std::optional<int> process_of(const std::string& word);

Result<StacksCommand> parse_stacks(const std::vector<std::string>& args);

}  // namespace dlaunch::cli
