// What frameworks read from their environment to learn who they are and where to meet (--env-for). Pure; frameworks.cpp
// has a row for each. docs/frameworks.md is the user's side of it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/plan.h"
#include "dlaunch/request.h"

namespace dlaunch::plan {

std::string_view to_string(Framework framework);

/// "torch,jax". None twice. An Error has no `where`.
Result<std::vector<Framework>> parse_frameworks(std::string_view text);

/// Why these may not stand in one environment, or not with this view of the devices; nullopt when they may.
std::optional<Error> refuse_combination(const std::vector<Framework>& frameworks, Visible visible);

/// What of a job only the machine we are on can tell.
struct Rendezvous {
  std::string here;        ///< this machine as ranks on other hosts reach it; needed when needs_address()
  std::vector<int> ports;  ///< free TCP ports here, ports_needed() of them
};

/// Whether a rank on another host will be told an address of this machine.
bool needs_address(const Plan& plan);

/// How many ports on this machine the ranks will be told.
int ports_needed(const Plan& plan);

/// TCP ports for the ranks on another host, where nobody looked which are free: in a range that no kernel hands out by
/// itself, at a place that the job's id decides. `index` 0, 1, … are different ports.
int unseen_port(std::string_view job_id, int index);

/// The plan with the variables of its frameworks. What -x chose stays as it is.
Result<Plan> with_frameworks(Plan plan, const Rendezvous& rendezvous);

}  // namespace dlaunch::plan
