// What a launcher takes from a table: which hosts, and for each rank its host and device. Pure.
#pragma once

#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "ranktable/table.h"

namespace dlaunch::ranktable {

struct TableHost {
  std::string name = {};          ///< to reach it by: host_ip, else server_id; empty in version 2.0, which does not say
  std::string server_id = {};     ///< as it stands in the table
  std::vector<int> ranks = {};    ///< ascending
  std::vector<int> devices = {};  ///< physical ids, of `ranks`
};

struct TableRank {
  int host = 0;  ///< index into Assignment::hosts
  int device = 0;
};

struct TableAssignment {
  std::vector<TableHost> hosts = {};  ///< in the order of their first ranks
  std::vector<TableRank> ranks = {};  ///< index == rank
};

/// For a table without findings: read_table and check_rules broke no rule. An Error otherwise, without `where`.
Result<TableAssignment> assignment_of(const Table& table);

}  // namespace dlaunch::ranktable
