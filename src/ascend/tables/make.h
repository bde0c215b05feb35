// Makes a table from the facts of each host, or from a plan. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ascend/tables/rules.h"
#include "dlaunch/error.h"
#include "dlaunch/plan.h"
#include "dlaunch/rank_table.h"

namespace dlaunch::ranktable {

/// As make_rank_table() (dlaunch/rank_table.h), but returns JSON.
Result<json::Json> make_table(Version version, Product product, std::vector<HostFacts> hosts);

/// Makes the table for the ranks of a plan, with the plan's rank numbers. facts[i] belongs to plan.hosts[i]; its
/// `devices` are ignored. Rejects ranks without a device, and ranks that share a device.
Result<json::Json> make_table(Version version, Product product, const plan::Plan& plan,
                              const std::vector<HostFacts>& facts);

// Joins tables of different servers: sorts the servers by server_id and renumbers the ranks. Pure.

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
