// Makes a table from the facts of each host, or from a plan. Pure.
#pragma once

#include <vector>

#include "ascend/tables/rules.h"
#include "dlaunch/error.h"
#include "dlaunch/plan.h"
#include "dlaunch/rank_table.h"

namespace dlaunch::ranktable {

/// As make_rank_table() (dlaunch/rank_table.h), but returns JSON.
Result<json::Json> make_table(Version version, Product product, std::vector<HostFacts> hosts);

/// Makes the table for the ranks of a plan, with the plan's rank numbers. facts[i] belongs to plan.hosts[i]; its
/// `devices` are ignored. Rejects ranks without a device, and ranks that share a device.
Result<json::Json> make_table(Version version, Product product, const plan::Plan& plan,
                              const std::vector<HostFacts>& facts);

}  // namespace dlaunch::ranktable
