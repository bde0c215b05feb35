// Whether the devices that a plan's ranks get could stand in one rank table: what HCCL allows, told before a rank
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

/// Of hosts whose devices are Ascend's, or of all where `stand_ins`: fake and named devices count as Ascend's.
std::vector<BrokenRule> broken_rules(const plan::Plan& plan, Product product, bool stand_ins);

}  // namespace dlaunch::ranktable
