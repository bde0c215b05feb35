// The assignment of a rank table: its hosts, and the host and device of each rank. Pure.
#pragma once

#include <string>
#include <vector>

#include "ascend/tables/table.h"
#include "dlaunch/error.h"

namespace dlaunch::ranktable {

struct TableHost {
  std::string name = {};  ///< the name to connect to: host_ip, else server_id; empty without these keys (version 2.0)
  std::string server_id = {};     ///< as written in the table
  std::vector<int> ranks = {};    ///< ascending
  std::vector<int> devices = {};  ///< physical ids, by index of `ranks`
};

struct TableRank {
  int host = 0;  ///< index into Assignment::hosts
  int device = 0;
};

struct TableAssignment {
  std::vector<TableHost> hosts = {};  ///< in the order of their first ranks
  std::vector<TableRank> ranks = {};  ///< by rank
};

/// Requires a table without findings of read_table and check_rules. An Error has an empty `where`.
Result<TableAssignment> assignment_of(const Table& table);

}  // namespace dlaunch::ranktable
