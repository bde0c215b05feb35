// torchrun's variables for each node, which Kubeflow Trainer and other operators set: PET_NNODES, PET_NODE_RANK;
// PET_RDZV_ENDPOINT, or PET_MASTER_ADDR and PET_MASTER_PORT.
#include "base/environment.h"
#include "base/ip_address.h"
#include "base/most_nodes.h"
#include "base/text.h"
#include "base/try.h"
#include "place/manager_list.h"

namespace dlaunch::place {
namespace {

constexpr const char* kNodes = "PET_NNODES";

Result<std::optional<NodePlace>> node(const Environment& environment) {
  const auto nodes = filled_variable(environment, kNodes);
  if (!nodes) return std::optional<NodePlace>();
  NodePlace place;
  const size_t colon = nodes->find(':');
  const auto least = parse_int(std::string_view(*nodes).substr(0, colon), 1, kMostNodes);
  const auto most = colon == std::string::npos ? least : parse_int(nodes->substr(colon + 1), 1, kMostNodes);
  if (!least || !most || *least > *most) return unknown_node(kNodes, *nodes, "expected a number of nodes, or MIN:MAX");
  place.least = static_cast<int>(*least);
  place.nodes = static_cast<int>(*most);
  place.node = TRY(node_number(environment, "PET_NODE_RANK"));
  place.rendezvous = filled_variable(environment, "PET_RDZV_ENDPOINT").value_or("");
  if (const auto address = filled_variable(environment, "PET_MASTER_ADDR"); address && place.rendezvous.empty()) {
    const auto port = filled_variable(environment, "PET_MASTER_PORT");
    place.rendezvous = port ? (is_ipv6(*address) ? '[' + *address + ']' : *address) + ':' + *port : *address;
  }
  return place;
}

}  // namespace

extern constinit const ManagerRow kTorchrun = {.name = "torchrun", .node = node, .nodes_variable = kNodes};

}  // namespace dlaunch::place
