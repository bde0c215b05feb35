// --rank-table FILE: the options that a rank table replaces. Pure.
//
// The table has hosts, ranks and devices. -H or a hostfile may set how to connect to the same hosts. A host of the list
// matches the table's host whose server_id or host_ip is the name or address of the listed host. A single host needs no
// match. A table of version 2.0 has no host names: its servers are the hosts of the list, in order.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "dlaunch/hostfile.h"
#include "settle/facts.h"

namespace dlaunch::settle {

/// Whether --rank-table names a file.
bool names_rank_table(const cli::Options& options);

struct TablePlaces {
  std::vector<hosts::HostEntry> hosts = {};  ///< with their devices; replace HostRequest::list and the hostfile
  std::vector<plan::RankPlace> places = {};  ///< of each rank
  std::vector<std::string> notes = {};       ///< for the user, one line per note
};

/// The content of options.rank_table. Requires names_rank_table().
Settling<TablePlaces> read_rank_table(const cli::Options& options, const Facts& facts);

}  // namespace dlaunch::settle
