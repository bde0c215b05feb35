// Whether the devices of a plan's ranks could be in one rank table, so that what HCCL refuses is refused before a rank
// starts. Pure.
#pragma once

#include <string>
#include <vector>

#include "dlaunch/plan.h"
#include "ranktable/rules.h"

namespace dlaunch::ranktable {

struct BrokenRule {
  std::string host = {};
  std::string what = {};  ///< "has 3 devices"
  std::string rule = {};  ///< "a server of Ascend 910 has 1, 2, 4 or 8"
};

/// For hosts with Ascend devices. With `stand_ins`, fake and named devices count as Ascend's.
std::vector<BrokenRule> broken_rules(const plan::Plan& plan, Product product, bool stand_ins);

}  // namespace dlaunch::ranktable
