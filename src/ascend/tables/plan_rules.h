// Checks if the devices of a plan's ranks can be in one rank table. Without the check, HCCL would fail after the ranks
// have started. Pure.
#pragma once

#include <string>
#include <vector>

#include "ascend/tables/rules.h"
#include "dlaunch/plan.h"

namespace dlaunch::ranktable {

struct BrokenRule {
  std::string host = {};
  std::string what = {};  ///< "has 3 devices"
  std::string rule = {};  ///< "expected 1, 2, 4 or 8 on a server of Ascend 910"
};

/// Checks hosts with Ascend devices. With `stand_ins`, fake and named devices count as Ascend devices.
std::vector<BrokenRule> broken_rules(const plan::Plan& plan, Product product, bool stand_ins);

}  // namespace dlaunch::ranktable
