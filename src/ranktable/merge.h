// Several tables, of different servers, as one: servers in the order of server_id, ranks numbered anew. Pure.
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

/// Keeps what else the servers and devices say (pod_ip, ports, …). Refuses tables of different versions, a server that
/// is in two of them, a malformed one, and whatever would break a rule. No product: the version's usual one.
Result<Merged> merge_tables(std::vector<NamedJson> tables, std::optional<Product> product);

}  // namespace dlaunch::ranktable
