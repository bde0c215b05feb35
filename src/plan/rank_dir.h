// A directory of its own for each rank (--rank-dir). Pure: names only; the agent makes them (agent/rank_dirs.h).
#pragma once

#include <optional>
#include <string_view>

#include "dlaunch/error.h"
#include "dlaunch/plan.h"

namespace dlaunch::plan {

/// cli's check of the template.
Result<void> check_rank_dir(std::string_view text);

/// Sets Rank::dir, and PWD, of every rank: the template below the directory of its program there. Two ranks never share
/// one, not even on two hosts, whose home may be the same.
std::optional<Error> add_rank_dirs(Plan& plan, std::string_view text);

}  // namespace dlaunch::plan
