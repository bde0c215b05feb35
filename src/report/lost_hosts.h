// Hosts that could not be used, or were lost, told together. PURE.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "dlaunch/outcome.h"

namespace dlaunch::report {

/// Whole lines, each starting with "dlaunch: ": hosts with the same reason in one, the reason with the most hosts last.
/// `started`: ranks ran there.
std::string lost_hosts_text(const std::vector<job::LostHost>& lost, bool started, Duration elapsed);

/// The command that ends what a job left on a host, whoever may run it there: only processes that hold exactly this id
/// in their environment. `shell_there`: what runs the script on its stdin on that host.
std::string end_job_command(const std::string& job_id, const std::string& shell_there);

}  // namespace dlaunch::report
