// Reads preemption settings (job/preemption.h) and the number of earlier attempts from the job's environment.
#pragma once

#include "cli/options.h"

namespace dlaunch::app {

/// Sets the ranks' time to save their state, if the user did not, and whether the job may be interactive.
void resolve_preemption_deadline(cli::Options& options);

/// Sets the time that the batch system leaves between TERM and KILL, if known: in a Slurm job whose steps have the
/// agents, and in a PBS job whose queue sets kill_delay.
void resolve_manager_kill_wait(cli::Options& options);

/// Sets the number of requeues. Attempts never share files: if the batch system does not count attempts, uses the first
/// number without a directory of files.
void resolve_attempt(cli::Options& options);

}  // namespace dlaunch::app
