// Hosts that could not be used, or were lost, told together. PURE.
#pragma once

#include <string>
#include <vector>

#include "job/outcome.h"
#include "job/policy.h"

namespace dlaunch::report {

/// Whole lines, each starting with "dlaunch: ": hosts with the same reason in one, the reason with the most hosts last.
/// `started`: ranks ran there.
std::string lost_hosts_text(const std::vector<job::LostHost>& lost, bool started, job::Duration elapsed);

}  // namespace dlaunch::report
