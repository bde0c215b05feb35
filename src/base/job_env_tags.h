// What a sweep knows a job's processes by, as entries of their environments.
#pragma once

#include <string>

namespace dlaunch {

/// Every rank and sidecar has it: a sweep finds them.
inline std::string rank_mark(const std::string& job_id) { return "DLAUNCH_JOB_ID=" + job_id; }

/// Agents have it instead: a sweep for ranks must not find them.
inline std::string agent_mark(const std::string& id) { return "DLAUNCH_AGENT_OF=" + id; }

}  // namespace dlaunch
