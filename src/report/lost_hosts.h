// The report on hosts that cannot be used or were lost. PURE.
#pragma once

#include <string>
#include <vector>

#include "base/time.h"
#include "dlaunch/outcome.h"

namespace dlaunch::report {

/// Complete lines, each starting with "dlaunch: ". Hosts with the same reason share one line; the most common reason is
/// last. `started`: ranks had started on the hosts.
std::string lost_hosts_text(const std::vector<job::LostHost>& lost, bool started, Duration elapsed);

/// The command that kills processes that a job left on a host. The command kills only processes with exactly this job
/// id in their environment. `shell_there`: the command that runs a script from stdin on the host.
std::string end_job_command(const std::string& job_id, const std::string& shell_there);

}  // namespace dlaunch::report
