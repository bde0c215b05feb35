// The text about hosts that could not be used or were lost. PURE.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "dlaunch/outcome.h"

namespace dlaunch::report {

/// Whole lines, each starting with "dlaunch: ". Hosts with the same reason share one; the reason of most hosts is last.
/// `started`: ranks had started there.
std::string lost_hosts_text(const std::vector<job::LostHost>& lost, bool started, Duration elapsed);

/// The command that ends what a job left on a host, for anyone who may run it there: only processes that hold exactly
/// this id in their environment. `shell_there` is the command that runs a script from its stdin on that host.
std::string end_job_command(const std::string& job_id, const std::string& shell_there);

}  // namespace dlaunch::report
