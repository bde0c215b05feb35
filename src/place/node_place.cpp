#include "place/node_place.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/environment.h"
#include "base/ip_address.h"
#include "base/most_nodes.h"
#include "base/text.h"
#include "base/try.h"
#include "hosts/host_name.h"

namespace dlaunch::place {
namespace {

using Variables = std::vector<std::string>;

constexpr long kFirstSlurmPort = 29400;
constexpr long kMostOfSlurm = 0xffffffff;  // for job and step numbers
constexpr long kSlurmPorts = 600;          // one port per step, so that two steps on a node use different ports

tl::unexpected<Error> invalid(std::string_view name, const std::string& value, std::string why) {
  return fail({.where = std::string(name) + '=' + value,
               .what = "cannot find the number of this node",
               .why = std::move(why),
               .hint = "set --nodes, --node-rank and --rendezvous"});
}

/// nullopt if the variable is not set.
Result<std::optional<int>> number_in(const Variables& environment, std::string_view name) {
  const auto text = filled_variable(environment, name);
  if (!text) return std::nullopt;
  const auto number = parse_int(trim(*text), 0, kMostNodes);
  if (!number) return invalid(name, *text, "expected a number from 0 to " + std::to_string(kMostNodes));
  return static_cast<int>(*number);
}

Result<NodePlace> place_by_torchrun(const Variables& environment) {
  NodePlace place;
  const std::string nodes = filled_variable(environment, "PET_NNODES").value_or("");
  const size_t colon = nodes.find(':');
  const auto least = parse_int(std::string_view(nodes).substr(0, colon), 1, kMostNodes);
  const auto most = colon == std::string::npos ? least : parse_int(nodes.substr(colon + 1), 1, kMostNodes);
  if (!least || !most || *least > *most) return invalid("PET_NNODES", nodes, "expected a number of nodes, or MIN:MAX");
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

/// The main node becomes node 0; the nodes before it get the next higher number.
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
    return invalid("SLURM_STEP_NUM_TASKS", std::to_string(place.nodes.value_or(0)),
                   "the step has " + count(*hosts, "node") + " and requires one task per node: --ntasks-per-node=1");
  }
  const std::string list = filled_variable(environment, "SLURM_STEP_NODELIST").value_or("");
  auto names = hosts::expand_names(hosts::split_outside_brackets(list, ',').front());
  if (list.empty() || !names) return place;
  const auto number = [&](std::string_view name) {
    return parse_int(filled_variable(environment, name).value_or(""), 0, kMostOfSlurm).value_or(0);
  };
  const long port = kFirstSlurmPort + (number("SLURM_JOB_ID") + number("SLURM_STEP_ID")) % kSlurmPorts;
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

namespace {

/// Rejects copies started by mpirun, Hydra or PALS with a count, and by PALS and pbsdsh without a count.
std::optional<Error> refuse_task_of_launcher(const Variables& environment) {
  const auto refused = [](std::string_view name, const std::string& value, const std::string& copies,
                          const std::string& by) {
    return Error{.where = std::string(name) + '=' + value,
                 .what = by + " " + copies + " of dlaunch: each copy would run the whole job",
                 .why = "",
                 .hint = "start dlaunch without " + by + ", or add --ignore-resource-manager to run one job per copy"};
  };
  bool counted = false;
  for (const auto& [name, by] : {std::pair("OMPI_COMM_WORLD_SIZE", "mpirun"), std::pair("PMI_SIZE", "mpiexec")}) {
    const auto given = filled_variable(environment, name);
    const auto copies = given ? parse_int(*given, 1, kMostNodes) : std::nullopt;
    if (copies && *copies > 1) return refused(name, *given, "started " + std::to_string(*copies) + " copies", by);
    counted = counted || copies.has_value();
  }
  constexpr const char* kUncounted = "may have started several copies";
  const auto pals = filled_variable(environment, "PALS_RANKID");
  if (pals && !counted) return refused("PALS_RANKID", *pals, kUncounted, "mpiexec or aprun");
  const auto task = filled_variable(environment, "PBS_TASKNUM");  // 1 means the job's script
  if (task && *task != "1" && !counted) return refused("PBS_TASKNUM", *task, kUncounted, "pbsdsh or pbs_tmrsh");
  return std::nullopt;
}

}  // namespace

std::optional<Error> refuse_copy_on_node(const Variables& environment) {
  for (const std::string_view of_rank : {"DLAUNCH_RANK", "TORCHELASTIC_RUN_ID"}) {
    if (filled_variable(environment, of_rank)) return std::nullopt;
  }
  for (const std::string_view name : {"PET_NNODES", "AWS_BATCH_JOB_NUM_NODES"}) {
    const auto given = filled_variable(environment, name);
    if (!given) continue;
    const auto place = place_of_node(environment);
    if (!place || place->nodes.value_or(1) == 1) return std::nullopt;
    return Error{
        .where = std::string(name) + '=' + *given,
        .what = std::to_string(*place->nodes) + " nodes start copies of dlaunch: each copy would run the whole job",
        .why = "",
        .hint =
            "add --same-line, and a key with --key-file or DLAUNCH_KEY, to run one job with all copies; "
            "add --ignore-resource-manager to run one job per copy"};
  }
  return refuse_task_of_launcher(environment);
}

}  // namespace dlaunch::place
