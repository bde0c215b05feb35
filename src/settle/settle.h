// Decides what the user's options leave open, from the system that started dlaunch (`place`) and from facts. First the
// job, then its hosts: only the second step asks hosts, through agents that need the settings of the job. Both
// functions are pure: without an answer that they require, they return the question.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "place/place.h"
#include "settle/facts.h"
#include "settle/way.h"

namespace dlaunch::settle {

struct SettledJob {
  /// The user's options, and in them: the name of the job, the way to the hosts, the times of a preemption, the number
  /// of the attempt, the staged files, and the hosts of a rank table.
  cli::Options options;
  WayToHosts way = {};
  std::vector<hosts::HostEntry> manager_hosts = {};  ///< hosts_of_manager()
  std::vector<std::string> remarks = {};             ///< for Allocation::remarks
};

/// Rejects a transport that is not available, and a start as one of several copies of this job.
Settling<SettledJob> settle_job(const cli::Options& asked, const place::Place& place, const Facts& facts);

/// Whether all ranks run on this machine. Does not require an answer.
bool only_here(const SettledJob& job, const place::Place& place);

/// The hosts of the job. `check` and ranks on configured slots do not require answers of hosts. A node of a Slurm job
/// has only the devices that Slurm lists there. The devices of a node are shared by its slots, as given by the batch
/// system. If a node has fewer devices than slots, and another node has no devices, ranks are placed by slots.
Settling<plan::Allocation> settle_hosts(const SettledJob& job, const place::Place& place, const Facts& facts);

/// Whether the command line starts ranks: it is not a subcommand, and does not only print a plan.
bool starts_ranks(const cli::Options& options);

}  // namespace dlaunch::settle
