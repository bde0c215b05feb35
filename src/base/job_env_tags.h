// Environment entries by which a sweep finds the processes of a job.
#pragma once

#include <string>

namespace dlaunch {

/// In the environment of every rank and sidecar. A sweep kills the processes with this entry.
inline std::string rank_mark(const std::string& job_id) { return "DLAUNCH_JOB_ID=" + job_id; }

/// In the environment of agents only, so that a sweep for ranks does not find them.
inline std::string agent_mark(const std::string& id) { return "DLAUNCH_AGENT_OF=" + id; }

}  // namespace dlaunch
