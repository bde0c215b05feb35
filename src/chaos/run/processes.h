// Which processes of this machine a fault meets: those of the job's record, checked against what the job gave them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "dlaunch/record.h"
#include "sys/descendants.h"

namespace dlaunch::chaos {

inline constexpr std::chrono::seconds kGone{40};  ///< three heartbeats of silence, the grace and KILL, twice over

/// The rank's process; nullopt: it is not there, or not on this machine.
std::optional<sys::Process> rank_process(const report::Record& record, int rank);

/// The guardian and the worker of the host's agent, as a rank's parents; none: no rank of the host runs on this
/// machine.
std::vector<sys::Process> agent_processes(const report::Record& record, const std::string& host);

/// The agent that a link's command has become, and its worker.
std::vector<sys::Process> agent_processes(int pid);

/// Processes of the job on this machine, by the id in their environment, and what its agents made in the directory for
/// temporary files and in /dev/shm, sockets too. Waits for all of it to go; by itself for as long as the job's limits
/// may take.
std::vector<std::string> left_of(const std::string& job_id, std::chrono::seconds patience = kGone);

}  // namespace dlaunch::chaos
