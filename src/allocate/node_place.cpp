#include "allocate/node_place.h"

#include <algorithm>
#include <string_view>

#include "allocate/host_name.h"
#include "base/environment.h"
#include "base/ip_address.h"
#include "base/text.h"
#include "base/try.h"

namespace dlaunch::allocate {
namespace {

using Variables = std::vector<std::string>;

constexpr long kMostNodes = 100'000;
constexpr long kFirstSlurmPort = 29400;
constexpr long kSlurmPorts = 600;  // of which a step has one, so that two on a node do not meet

tl::unexpected<Error> not_meant(std::string_view name, const std::string& value, std::string why) {
  return fail({.where = std::string(name) + '=' + value,
               .what = "does not say which node this is",
               .why = std::move(why),
               .hint = "say it by --nodes, --node-rank and --rendezvous"});
}

/// None where the variable is not set.
Result<std::optional<int>> number_in(const Variables& environment, std::string_view name) {
  const auto text = filled_variable(environment, name);
  if (!text) return std::nullopt;
  const auto number = parse_int(trim(*text), 0, kMostNodes);
  if (!number) return not_meant(name, *text, "it is no number of nodes");
  return static_cast<int>(*number);
}

Result<NodePlace> place_by_torchrun(const Variables& environment) {
  NodePlace place;
  const std::string nodes = filled_variable(environment, "PET_NNODES").value_or("");
  const size_t colon = nodes.find(':');
  const auto least = parse_int(std::string_view(nodes).substr(0, colon), 1, kMostNodes);
  const auto most = colon == std::string::npos ? least : parse_int(nodes.substr(colon + 1), 1, kMostNodes);
  if (!least || !most || *least > *most) return not_meant("PET_NNODES", nodes, "it is no number of nodes");
  place.least = static_cast<int>(*least);
  place.nodes = static_cast<int>(*most);
  place.node = TRY(number_in(environment, "PET_NODE_RANK"));
  place.rendezvous = filled_variable(environment, "PET_RDZV_ENDPOINT").value_or("");
  if (const auto address = filled_variable(environment, "PET_MASTER_ADDR"); address && place.rendezvous.empty()) {
    const auto port = filled_variable(environment, "PET_MASTER_PORT");
    place.rendezvous = port ? (is_ipv6(*address) ? '[' + *address + ']' : *address) + ':' + *port : *address;
  }
  return place;
}

/// The main node is node 0 here, and those before it are one up.
Result<NodePlace> place_by_aws_batch(const Variables& environment) {
  NodePlace place;
  place.nodes = TRY(number_in(environment, "AWS_BATCH_JOB_NUM_NODES"));
  const auto index = TRY(number_in(environment, "AWS_BATCH_JOB_NODE_INDEX"));
  const auto main = TRY(number_in(environment, "AWS_BATCH_JOB_MAIN_NODE_INDEX"));
  const int first = main.value_or(0);
  if (index) place.node = *index == first ? 0 : *index < first ? *index + 1 : *index;
  place.rendezvous = filled_variable(environment, "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS").value_or("");
  return place;
}

Result<NodePlace> place_by_slurm(const Variables& environment) {
  NodePlace place;
  place.nodes = TRY(number_in(environment, "SLURM_STEP_NUM_TASKS"));
  place.node = TRY(number_in(environment, "SLURM_PROCID"));
  const auto hosts = TRY(number_in(environment, "SLURM_STEP_NUM_NODES"));
  if (hosts && place.nodes != hosts) {
    return not_meant("SLURM_STEP_NUM_TASKS", std::to_string(place.nodes.value_or(0)),
                     "the step has " + count(*hosts, "node") + ", and needs one task on each: --ntasks-per-node=1");
  }
  const std::string list = filled_variable(environment, "SLURM_STEP_NODELIST").value_or("");
  auto names = expand_names(split_outside_brackets(list, ',').front());
  if (list.empty() || !names) return place;
  const auto job = TRY(number_in(environment, "SLURM_JOB_ID"));
  const auto step = TRY(number_in(environment, "SLURM_STEP_ID"));
  const long port = kFirstSlurmPort + (long{job.value_or(0)} + step.value_or(0)) % kSlurmPorts;
  place.rendezvous = names->front() + ':' + std::to_string(port);
  return place;
}

}  // namespace

Result<NodePlace> place_of_node(const Variables& environment) {
  if (filled_variable(environment, "PET_NNODES")) return place_by_torchrun(environment);
  if (filled_variable(environment, "AWS_BATCH_JOB_NUM_NODES")) return place_by_aws_batch(environment);
  if (filled_variable(environment, "JOB_COMPLETION_INDEX")) {
    NodePlace place;
    place.node = TRY(number_in(environment, "JOB_COMPLETION_INDEX"));
    return place;
  }
  if (filled_variable(environment, "SLURM_PROCID") && filled_variable(environment, "SLURM_STEP_NUM_TASKS")) {
    return place_by_slurm(environment);
  }
  return NodePlace{};
}

std::optional<Error> refuse_copy_on_node(const Variables& environment) {
  for (const std::string_view of_rank : {"DLAUNCH_RANK", "TORCHELASTIC_RUN_ID"}) {
    if (filled_variable(environment, of_rank)) return std::nullopt;
  }
  for (const std::string_view name : {"PET_NNODES", "AWS_BATCH_JOB_NUM_NODES"}) {
    const auto said = filled_variable(environment, name);
    if (!said) continue;
    const auto place = place_of_node(environment);
    if (!place || place->nodes.value_or(1) == 1) return std::nullopt;
    return Error{.where = std::string(name) + '=' + *said,
                 .what = "this is one of " + std::to_string(*place->nodes) +
                         " copies of dlaunch, and each would run the whole job",
                 .why = "",
                 .hint =
                     "add --same-line, and a key by --key-file or DLAUNCH_KEY: then the copies run one job together; "
                     "with --ignore-resource-manager each runs one"};
  }
  return std::nullopt;
}

}  // namespace dlaunch::allocate
