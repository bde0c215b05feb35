// A table from what is known of each host, and from a plan. Pure.
#pragma once

#include <vector>

#include "dlaunch/error.h"
#include "dlaunch/plan.h"
#include "dlaunch/rank_table.h"
#include "ranktable/rules.h"

namespace dlaunch::ranktable {

/// The hosts in the order of server_id, ranks in the order of their devices. An Error names the first rule that the
/// table would break.
Result<Json> make_table(Version version, Product product, std::vector<HostFacts> hosts);

/// For the ranks of a plan, as the plan numbers them; facts[i] is of plan.hosts[i], whose `devices` do not matter here.
/// Refuses a rank without a device of its own.
Result<Json> make_table(Version version, Product product, const plan::Plan& plan, const std::vector<HostFacts>& facts);

}  // namespace dlaunch::ranktable
