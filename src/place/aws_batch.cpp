// A multi-node job of AWS Batch: AWS_BATCH_JOB_NUM_NODES, …_NODE_INDEX, …_MAIN_NODE_INDEX. Only the other nodes get the
// address of the main node.
#include "base/environment.h"
#include "base/try.h"
#include "place/manager_list.h"

namespace dlaunch::place {
namespace {

constexpr const char* kNodes = "AWS_BATCH_JOB_NUM_NODES";

/// The main node becomes node 0; each node before the main node gets its number plus 1.
Result<std::optional<NodePlace>> node(const Environment& environment) {
  if (!filled_variable(environment, kNodes)) return std::optional<NodePlace>();
  NodePlace place;
  place.nodes = TRY(node_number(environment, kNodes));
  const auto index = TRY(node_number(environment, "AWS_BATCH_JOB_NODE_INDEX"));
  const auto main = TRY(node_number(environment, "AWS_BATCH_JOB_MAIN_NODE_INDEX"));
  const int first = main.value_or(0);
  if (index) place.node = *index == first ? 0 : *index < first ? *index + 1 : *index;
  place.rendezvous = filled_variable(environment, "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS").value_or("");
  return place;
}

}  // namespace

extern constinit const ManagerRow kAwsBatch = {.name = "AWS Batch", .node = node, .nodes_variable = kNodes};

}  // namespace dlaunch::place
