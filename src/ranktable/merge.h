// Joins tables of different servers: servers in the order of server_id, ranks numbered anew. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dlaunch/error.h"
#include "ranktable/rules.h"

namespace dlaunch::ranktable {

struct NamedJson {
  std::string name = {};  ///< the file's, for errors
  Json json;
};

struct Merged {
  Json json;
  size_t servers = 0;
  size_t ranks = 0;
};

/// merge_rank_tables() (dlaunch/rank_table.h) for tables that are parsed.
Result<Merged> merge_tables(std::vector<NamedJson> tables, std::optional<Product> product);

}  // namespace dlaunch::ranktable
