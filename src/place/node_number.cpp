#include "place/node_number.h"

#include "base/environment.h"
#include "base/most_nodes.h"
#include "base/text.h"

namespace dlaunch::place {

tl::unexpected<Error> unknown_node(std::string_view name, const std::string& value, std::string why) {
  return fail({.where = std::string(name) + '=' + value,
               .what = "cannot find the number of this node",
               .why = std::move(why),
               .hint = "set --nodes, --node-rank and --rendezvous"});
}

Result<std::optional<int>> node_number(const Environment& environment, std::string_view name) {
  const auto text = filled_variable(environment, name);
  if (!text) return std::nullopt;
  const auto number = parse_int(trim(*text), 0, kMostNodes);
  if (!number) return unknown_node(name, *text, "expected a number from 0 to " + std::to_string(kMostNodes));
  return static_cast<int>(*number);
}

}  // namespace dlaunch::place
