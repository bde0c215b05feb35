// What frameworks read from their environment to learn who they are and where their rendezvous is (--env-for). Pure;
// framework_table.cpp has a row for each. docs/frameworks.md is the user's side.
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

/// Parses "torch,jax", without repetitions. An Error has no `where`.
Result<std::vector<Framework>> parse_frameworks(std::string_view text);

/// Why these frameworks cannot share one environment, or not with this view of the devices; nullopt when they can.
std::optional<Error> refuse_combination(const std::vector<Framework>& frameworks, Visible visible);

/// What only this machine can tell of itself.
struct Rendezvous {
  std::string here;        ///< address of this machine as ranks on other hosts reach it; for needs_address()
  std::vector<int> ports;  ///< free TCP ports of this machine, ports_needed() of them
};

/// Whether a rank on another host will be given an address of this machine.
bool needs_address(const Plan& plan);

/// How many ports of this machine the ranks will be given.
int ports_needed(const Plan& plan);

/// A TCP port for the ranks' rendezvous on another host, where nobody has looked which are free. It is in a range that
/// no kernel hands out by itself, and follows from the job's id; each `index` 0, 1, … gives a different port.
int unseen_port(std::string_view job_id, int index, int round = 0);

/// Adds the variables of the plan's frameworks. What -x set stays.
Result<Plan> with_frameworks(Plan plan, const Rendezvous& rendezvous);

}  // namespace dlaunch::plan
