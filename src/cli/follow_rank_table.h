// --rank-table FILE: the job that a rank table describes. PURE: what needs this machine is a parameter.
//
// The table says hosts, ranks and devices. -H or a hostfile may say how to reach the same hosts; a host of the list is
// the one of the table that has its name or address as server_id or host_ip. A single host needs no match. Nor does
// version 2.0, which names no hosts: the list's hosts are then the table's servers, in their order.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "dlaunch/error.h"

namespace dlaunch::cli {

/// Whether a name of a host list and a different one of a table mean the same host.
using SameHost = std::function<bool(const std::string& listed, const std::string& in_table)>;

/// Puts hosts, places and devices of options.rank_table into the options. Returns notes for the user, a line each.
Result<std::vector<std::string>> follow_rank_table(Options& options, const SameHost& same_host);

}  // namespace dlaunch::cli
