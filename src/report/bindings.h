// The CPUs of each rank, for --report-bindings. PURE.
#pragma once

#include <string>

#include "dlaunch/outcome.h"
#include "dlaunch/plan.h"

namespace dlaunch::report {

/// One line per rank of world 1: "dlaunch: rank 0 on node1, pid 42: CPUs 0-3".
std::string bindings_text(const plan::Plan& plan, const job::Outcome& outcome);

}  // namespace dlaunch::report
