// --rank-table FILE: makes the options of the job in a rank table. PURE: access to this machine is a parameter.
//
// The table has hosts, ranks and devices. -H or a hostfile may set how to connect to the same hosts. A host of the list
// matches the table's host whose server_id or host_ip is the name or address of the listed host. A single host needs no
// match. A table of version 2.0 has no host names: its servers are the hosts of the list, in order.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/options.h"
#include "dlaunch/error.h"

namespace dlaunch::ascend {

/// Returns true if two different names, of a host list and of a table, belong to the same host.
using SameHost = std::function<bool(const std::string& listed, const std::string& in_table)>;

/// Sets the hosts, places and devices of options.rank_table in `options`. Returns notes for the user, one line per
/// note.
Result<std::vector<std::string>> follow_rank_table(cli::Options& options, const SameHost& same_host);

}  // namespace dlaunch::ascend
