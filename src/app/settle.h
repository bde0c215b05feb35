// The settings of a job that depend on the batch system around this process:
// - the transport: of --transport, else of the batch system, else ssh
// - the devices of the nodes
// - the times of a preemption (job/preemption.h), and the number of earlier attempts
#pragma once

#include <optional>

#include "cli/options.h"
#include "dlaunch/error.h"
#include "dlaunch/host.h"
#include "place/place.h"
#include "session/host_session.h"

namespace dlaunch::app {

/// `place`: of this process. Call before the allocation is made. Sets JobOptions::exec and HostRequest::by_manager if
/// the batch system's own command is the transport. Rejects an unavailable transport, and a start as one of several
/// copies of this job.
Result<void> choose_transport(cli::Options& options, const place::Place& place);

/// In a batch job: adds the node data that each agent, or its transport command, requires.
void add_manager(const cli::Options& options, const place::Place& place, plan::Allocation& allocation);

/// In a batch job, adds a remark: the transport, and the option that overrode the batch system's transport or hosts.
/// Call after the requested slots of hosts are known.
void add_transport_remark(const cli::Options& options, const place::Place& place, plan::Allocation& allocation);

/// Whether agents start by the batch system's own command on nodes without configured devices, and the job's variables
/// or the options indicate devices.
bool needs_devices(const cli::Options& options, const place::Place& place, const plan::Allocation& allocation);

/// Queries these nodes. A node of a Slurm job has only the devices that Slurm lists there. The devices of a node are
/// shared by its slots, as given by the batch system. If a node has fewer devices than slots, and another node has no
/// devices, ranks are placed by slots. Returns the exit code of a failure; all unreachable hosts are reported together.
std::optional<int> find_devices(session::HostSession& session, plan::Allocation& allocation,
                                const cli::Options& options, const place::Place& place);

/// Sets whether the job may be interactive, and, if the user did not, the ranks' time to save their state.
void resolve_preemption_deadline(cli::Options& options, const place::Place& place);

/// Sets the time that the batch system leaves between TERM and KILL, if known: in a Slurm job with agents in its steps,
/// and in a PBS job if the queue sets kill_delay. Sets the ports for the agents' connections if the same text of the
/// batch system has them.
void resolve_manager_settings(cli::Options& options, const place::Place& place);

/// Sets the number of requeues. Attempts never share files: if the batch system does not count attempts, uses the first
/// number without a directory of files.
void resolve_attempt(cli::Options& options, const place::Place& place);

}  // namespace dlaunch::app
