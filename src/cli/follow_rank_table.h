// --rank-table FILE: the job that a rank table describes. PURE: what needs this machine is a parameter.
//
// The table says hosts, ranks and devices. -H or a hostfile may say how to reach the same hosts; one of the table's is
// the one that has its server_id or host_ip for a name, or for an address. A single host needs no match, and neither
// does version 2.0, which names none: hosts of the list are the table's servers then, in their order.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "dlaunch/error.h"

namespace dlaunch::cli {

/// Whether a name of a host list and one of a table mean one host, where they are not the same word.
using SameHost = std::function<bool(const std::string& listed, const std::string& in_table)>;

/// Puts hosts, places and devices of options.rank_table into the options. What a user should know, a line each.
Result<std::vector<std::string>> follow_rank_table(Options& options, const SameHost& same_host);

}  // namespace dlaunch::cli
