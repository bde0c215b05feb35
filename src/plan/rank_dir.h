// Names a directory for each rank (--rank-dir). Pure; agent/rank_dirs.h makes the directories.
#pragma once

#include <optional>
#include <string_view>

#include "dlaunch/error.h"
#include "dlaunch/plan.h"

namespace dlaunch::plan {

/// Checks the template of the command line.
Result<void> check_rank_dir(std::string_view text);

/// Sets Rank::dir and PWD of every rank from the template, below the directory of the rank's program. An Error if two
/// ranks would share a directory, even on two hosts: their home may be the same.
std::optional<Error> add_rank_dirs(Plan& plan, std::string_view text);

}  // namespace dlaunch::plan
