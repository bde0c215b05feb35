// The words after `dlaunch stacks`. PURE.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlaunch/error.h"

namespace dlaunch::cli {

struct StacksCommand {
  std::string help = {};                ///< not empty: print this text only
  std::vector<std::string> words = {};  ///< as typed; empty: list the jobs of this machine
  bool all = false;                     ///< all threads
};

/// Returns the process id in `word`; nullopt if `word` is a job id.
std::optional<int> process_of(const std::string& word);

Result<StacksCommand> parse_stacks(const std::vector<std::string>& args);

}  // namespace dlaunch::cli
