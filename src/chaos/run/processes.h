// Finds the processes of this machine that a fault affects: those in the job's record, compared with the environment
// that the job set.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "dlaunch/record.h"
#include "sys/descendants.h"

namespace dlaunch::chaos {

inline constexpr std::chrono::seconds kGone{40};  ///< twice three heartbeats of silence, the grace period and KILL

/// The process of the rank; nullopt: not found, or on another machine.
std::optional<sys::Process> rank_process(const report::Record& record, int rank);

/// The guardian and the worker of the host's agent, as parents of a rank; empty: no rank of the host runs on this
/// machine.
std::vector<sys::Process> agent_processes(const report::Record& record, const std::string& host);

/// The agent that replaced a link's command by exec, and its worker.
std::vector<sys::Process> agent_processes(int pid);

/// The processes of the job on this machine, by the id in their environment, and the files of its agents in the
/// directory for temporary files and in /dev/shm, also sockets. Waits until all are gone; without an argument, for the
/// limits of the job.
std::vector<std::string> left_of(const std::string& job_id, std::chrono::seconds patience = kGone);

}  // namespace dlaunch::chaos
