// The way in which agents start on other hosts: the way of --transport, else of the batch system around this process,
// else --exec or ssh. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "dlaunch/host.h"
#include "place/place.h"
#include "settle/facts.h"

namespace dlaunch::settle {

struct WayToHosts {
  std::string exec = {};               ///< JobOptions::exec
  bool exec_is_signalled = true;       ///< JobOptions::exec_is_signalled
  std::optional<DialIn> dial_in = {};  ///< JobOptions::dial_in
  std::string program = {};            ///< the batch system's command that starts the agents; empty: another way
  /// GPUs per node name for Slurm's steps, if nodes may differ. A node without an entry has no GPUs.
  std::map<std::string, int> step_gpus = {};

  bool by_manager() const { return !program.empty(); }
};

/// Rejects a way that is not available.
Settling<WayToHosts> choose_way(const cli::Options& options, const place::Place& place, const Facts& facts);

/// The hosts of the job, if only a program of the batch system knows them, and the user did not name hosts; else empty.
Settling<std::vector<hosts::HostEntry>> hosts_of_manager(const cli::Options& options, const place::Place& place,
                                                         const Facts& facts);

/// In a batch job: the way, and the option that overrode the batch system's way or hosts.
std::optional<std::string> way_remark(const cli::Options& options, const WayToHosts& way, const place::Place& place,
                                      const plan::Allocation& allocation);

}  // namespace dlaunch::settle
