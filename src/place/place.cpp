#include "place/place.h"

#include <algorithm>
#include <utility>

#include "base/environment.h"
#include "base/most_nodes.h"
#include "base/text.h"
#include "base/try.h"
#include "place/manager_list.h"

namespace dlaunch::place {
namespace {

/// Rejects copies started by mpirun, Hydra or PALS with a count, and by PALS and pbsdsh without a count.
std::optional<Error> refuse_task_of_launcher(const Environment& environment) {
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

Found find_manager(const Environment& environment) {
  for (const ManagerRow* const manager : managers()) {
    auto job = manager->job ? manager->job(environment) : std::nullopt;
    if (job) return {manager, *std::move(job)};
  }
  return {};
}

std::string to_string(const Found& found) { return plan::to_string(*named(found)); }

std::optional<plan::Manager> named(const Found& found) {
  if (!found) return std::nullopt;
  return plan::Manager{std::string(found.manager->name), found.job};
}

NamedWay find_way(std::string_view transport) {
  for (const ManagerRow* const manager : managers()) {
    const auto way = std::ranges::find(manager->ways, transport, &Way::transport);
    if (!transport.empty() && way != manager->ways.end()) return {manager, &*way};
  }
  return {};
}

std::vector<std::string> way_names() {
  std::vector<std::string> names;
  for (const ManagerRow* const manager : managers()) {
    for (const Way& way : manager->ways) {
      if (!way.transport.empty()) names.emplace_back(way.transport);
    }
  }
  return names;
}

Result<Entries> hosts_of(const Found& found, const Environment& environment, const hosts::ReadText& read_file) {
  if (found.manager->hosts) return found.manager->hosts(environment, read_file);
  return wrong_list(found.manager->hosts_variable,
                    "dlaunch has not read the hosts of this " + std::string(found.manager->name) + " instance");
}

std::optional<Error> refuse_copies(const Found& found, const Environment& environment) {
  const Copies copies = found && found.manager->copies ? found.manager->copies(environment) : Copies{};
  if (copies.number == 1) return std::nullopt;
  const std::string by(copies.by);
  return Error{.where = to_string(found),
               .what = by + " started " + std::to_string(copies.number) +
                       " copies of dlaunch: each copy would run the whole job",
               .why = "",
               .hint = "start dlaunch without " + by + ", or with " + by +
                       " -n 1; add --same-line to run one job with all copies, or "
                       "--ignore-resource-manager to run one job per copy"};
}

std::optional<Error> refuse_incomplete_batch_job(const Environment& environment) {
  if (filled_variable(environment, "DLAUNCH_RANK")) return std::nullopt;
  for (const ManagerRow* const manager : managers()) {
    auto error = manager->unlisted ? manager->unlisted(environment) : std::nullopt;
    if (error) return error;
  }
  return std::nullopt;
}

Result<NodePlace> place_of_node(const Environment& environment) {
  for (const ManagerRow* const manager : managers()) {
    if (!manager->node) continue;
    auto place = TRY(manager->node(environment));
    if (place) return *std::move(place);
  }
  return NodePlace{};
}

std::optional<Error> refuse_copy_on_node(const Environment& environment) {
  for (const std::string_view of_rank : {"DLAUNCH_RANK", "TORCHELASTIC_RUN_ID"}) {
    if (filled_variable(environment, of_rank)) return std::nullopt;
  }
  for (const ManagerRow* const manager : managers()) {
    const std::string_view name = manager->nodes_variable;
    const auto given = name.empty() ? std::nullopt : filled_variable(environment, name);
    if (!given) continue;
    const auto place = manager->node(environment);
    if (!place || !*place || (*place)->nodes.value_or(1) == 1) return std::nullopt;
    return Error{
        .where = std::string(name) + '=' + *given,
        .what = std::to_string(*(*place)->nodes) + " nodes start copies of dlaunch: each copy would run the whole job",
        .why = "",
        .hint =
            "add --same-line, and a key with --key-file or DLAUNCH_KEY, to run one job with all copies; "
            "add --ignore-resource-manager to run one job per copy"};
  }
  return refuse_task_of_launcher(environment);
}

std::optional<Attempt> attempt_of(const Environment& environment) {
  constexpr const char* kOfUser = "DLAUNCH_ATTEMPT";
  if (whole_number(variable(environment, kOfUser).value_or(""))) return counted_attempt(environment, kOfUser);
  for (const ManagerRow* const manager : managers()) {
    const auto attempt = manager->attempt ? manager->attempt(environment) : std::nullopt;
    if (attempt) return attempt;
  }
  return std::nullopt;
}

std::optional<OwnEnd> end_of_job(const Environment& environment) {
  for (const ManagerRow* const manager : managers()) {
    auto preemption = manager->preemption ? manager->preemption(environment) : std::nullopt;
    if (preemption) return OwnEnd{manager, *std::move(preemption)};
  }
  return std::nullopt;
}

}  // namespace dlaunch::place
