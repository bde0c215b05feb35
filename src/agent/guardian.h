// The guardian: the parent of the worker (agent/agent.h). The guardian forwards signals to the worker, and ends all
// processes of the job if the worker is killed or stays stopped. Used by `main`. The calling process is a subreaper,
// has no descriptor of the link, and has blocked awaited_by_guardian().
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <array>

#include "agent/job_cgroup.h"
#include "agent/job_directory.h"

namespace dlaunch::agent {

inline constexpr int kBroken = 3;  ///< the exit code of guardian and worker if they cannot work

/// The guardian forwards these signals to the worker.
inline constexpr std::array kForwarded = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2};

/// The number under which the guardian forwards a signal. It differs, because a batch system may signal each process of
/// the job: the kernel would merge both signals, and the worker could not know whether the ranks have the signal.
inline int forwarded(int signal) { return SIGRTMIN + signal; }

/// CHLD, the signals that the guardian forwards, and their forwarded numbers.
sigset_t awaited_by_guardian();

/// Waits for the worker's end, then removes all remains of the job. `remote`: the launcher is on another host; if
/// memory ran out, the guardian writes a line to stderr for the launcher. Returns the exit code.
int guard(pid_t worker, bool remote, JobDirectory& files, JobCgroup& cgroup);

}  // namespace dlaunch::agent
