#include "place/place.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <utility>

#include "base/environment.h"
#include "base/most_nodes.h"
#include "base/text.h"
#include "base/try.h"
#include "place/manager_list.h"

namespace dlaunch::place {

std::span<const ManagerRow* const> managers() {
#define MANAGER(row, ...) &row,
  static constexpr auto kManagers = std::to_array<const ManagerRow*>({
#include "place/manager_table.h"
  });
#undef MANAGER
  return kManagers;
}

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

Result<Entries> hosts_of(const ManagerRow& manager, const Environment& environment, const hosts::ReadText& read_file) {
  if (manager.hosts) return manager.hosts(environment, read_file);
  return wrong_list(manager.hosts_variable,
                    "dlaunch has not read the hosts of this " + std::string(manager.name) + " instance");
}

/// Reads each file once.
hosts::ReadText once(const hosts::ReadText& read_file) {
  return [read_file, texts = std::map<std::string, Result<std::string>>()](const std::string& path) mutable {
    auto found = texts.find(path);
    if (found == texts.end()) {
      found = texts.emplace(path, read_file ? read_file(path) : fail({"", "cannot read " + path, "", ""})).first;
    }
    return found->second;
  };
}

std::vector<ManagerJob> jobs_around(const Environment& given, const hosts::ReadText& read_file) {
  const auto environment = std::make_shared<const Environment>(given);
  const auto read_once = std::make_shared<const hosts::ReadText>(once(read_file));
  std::vector<ManagerJob> jobs;
  for (const ManagerRow* const manager : managers()) {
    auto number = manager->job ? manager->job(*environment) : std::nullopt;
    if (!number) continue;
    ManagerJob& job = jobs.emplace_back(ManagerJob{manager, *std::move(number)});
    if (manager->cpus) job.cpus = manager->cpus(*environment);
    job.hosts = [=] { return hosts_of(*manager, *environment, *read_once); };
    job.rank_places = [=] {
      return manager->rank_places ? manager->rank_places(*environment, *read_once) : std::vector<plan::RankPlace>();
    };
  }
  return jobs;
}

/// Rejects copies that the manager's own launcher started.
std::optional<Error> refuse_copies(const ManagerJob& job, const Environment& environment) {
  const Copies copies = job.manager->copies ? job.manager->copies(environment) : Copies{};
  if (copies.number == 1) return std::nullopt;
  const std::string by(copies.by);
  return Error{.where = to_string(job),
               .what = by + " started " + std::to_string(copies.number) +
                       " copies of dlaunch: each copy would run the whole job",
               .why = "",
               .hint = "start dlaunch without " + by + ", or with " + by +
                       " -n 1; or add --same-line (one job with all copies) or --ignore-resource-manager "
                       "(one job per copy)"};
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

/// Rejects a process on one of several nodes, or from a launcher that started several processes. nullopt for a rank of
/// a launcher there.
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
            "add --same-line and a key (--key-file or DLAUNCH_KEY) for one job on all nodes, or "
            "--ignore-resource-manager for one job per node"};
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

}  // namespace

plan::Manager named(const ManagerJob& job) { return {std::string(job.manager->name), job.number}; }

std::string to_string(const ManagerJob& job) { return plan::to_string(named(job)); }

const ManagerJob* Place::job_of(std::string_view manager) const {
  const auto found = std::ranges::find(jobs, manager, [](const ManagerJob& job) { return job.manager->name; });
  return found == jobs.end() ? nullptr : &*found;
}

Place read_place(const Environment& environment, const hosts::ReadText& read_file) {
  Place place{.jobs = jobs_around(environment, read_file),
              .node = place_of_node(environment),
              .unlisted = refuse_incomplete_batch_job(environment),
              .attempt = attempt_of(environment),
              .end = end_of_job(environment)};
  if (place.job()) place.copies = refuse_copies(*place.job(), environment);
  if (!place.copies) place.copies = refuse_copy_on_node(environment);
  place.may_signal = place.job() || place.end || filled_variable(environment, "KUBERNETES_SERVICE_HOST");
  return place;
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

}  // namespace dlaunch::place
