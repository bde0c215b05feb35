// The rank table of a job (--rank-table): read before the plan, or made after it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/options.h"
#include "cli/ways.h"
#include "plan/plan.h"

namespace dlaunch::cli {

/// --rank-table FILE: hosts and places come from it. Notes for the user.
Result<std::vector<std::string>> follow_table_file(Options& options);

/// Devices that a table names are Ascend's.
void mark_table_devices(const Options& options, plan::Allocation& allocation);

/// Whether the ranks' devices go together as Ascend's must. What breaks a rule is refused where HCCL will be used for
/// sure (a rank table, --env-for mindspore), else noted.
Result<void> check_ascend_rules(const Options& options, plan::Plan& plan);

/// What ranks find of it in their environment; a table that is made has no text yet.
Result<void> add_table(const Options& options, plan::Plan& plan);

/// --rank-table auto: asks the plan's hosts. Does nothing unless that is asked.
Result<void> make_job_table(const Options& options, Ways& ways, plan::Plan& plan);

}  // namespace dlaunch::cli
