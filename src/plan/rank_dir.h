// A directory of its own for each rank (--rank-dir). Pure: names only; agent/rank_dirs.h makes the directories.
#pragma once

#include <optional>
#include <string_view>

#include "dlaunch/error.h"
#include "dlaunch/plan.h"

namespace dlaunch::plan {

/// Checks the template for cli.
Result<void> check_rank_dir(std::string_view text);

/// Sets every rank's Rank::dir, and PWD, from the template, below its program's directory. An Error when two ranks
/// would share one, even on two hosts, whose home may be the same.
std::optional<Error> add_rank_dirs(Plan& plan, std::string_view text);

}  // namespace dlaunch::plan
