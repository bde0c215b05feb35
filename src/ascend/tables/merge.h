// Joins tables of different servers: sorts the servers by server_id and renumbers the ranks. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ascend/tables/rules.h"
#include "dlaunch/error.h"

namespace dlaunch::ranktable {

struct NamedJson {
  std::string name = {};  ///< the file name, for errors
  json::Json json;
};

struct Merged {
  json::Json json;
  size_t servers = 0;
  size_t ranks = 0;
};

/// As merge_rank_tables() (dlaunch/rank_table.h), for parsed tables.
Result<Merged> merge_tables(std::vector<NamedJson> tables, std::optional<Product> product);

}  // namespace dlaunch::ranktable
