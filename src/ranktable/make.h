// Makes a table from what is known of each host, or from a plan. Pure.
#pragma once

#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/plan.h"
#include "dlaunch/rank_table.h"
#include "ranktable/rules.h"

namespace dlaunch::ranktable {

/// make_rank_table() (dlaunch/rank_table.h), whose table is not yet text.
Result<Json> make_table(Version version, Product product, std::vector<HostFacts> hosts);

/// For the ranks of a plan, with the plan's numbers. facts[i] is of plan.hosts[i]; its `devices` are ignored. Refuses a
/// rank without a device of its own.
Result<Json> make_table(Version version, Product product, const plan::Plan& plan, const std::vector<HostFacts>& facts);

}  // namespace dlaunch::ranktable
