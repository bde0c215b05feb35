#include "place/variables.h"

#include <algorithm>
#include <array>

namespace dlaunch::place {
namespace {

/// The names in a row of the table, separated by blanks.
struct Names {
  std::string_view of_job;
  std::string_view passed;
  std::string_view of_node;
};
constexpr Names kNames[] = {
#define MANAGER(row, ...) {__VA_ARGS__},
#include "place/manager_table.h"
#undef MANAGER
};

bool matches(std::string_view names, std::string_view name) {
  while (!names.empty()) {
    const std::string_view word = names.substr(0, names.find(' '));
    if (word.ends_with('*') ? name.starts_with(word.substr(0, word.size() - 1)) : name == word) return true;
    names.remove_prefix(std::min(word.size() + 1, names.size()));
  }
  return false;
}

bool is_in(std::string_view Names::* column, std::string_view name) {
  return std::ranges::any_of(kNames, [&](const Names& row) { return matches(row.*column, name); });
}

constexpr std::array<std::string_view, 5> kTaskPrefixes = {"SLURM_STEP", "SLURM_SRUN_COMM", "SLURM_NTASKS",
                                                           "SLURM_CPU_BIND", "SLURM_TASK"};
constexpr std::array<std::string_view, 7> kTaskNames = {
    "SLURM_PROCID",      "SLURM_LOCALID", "SLURM_NODEID", "SLURM_NPROCS", "SLURM_GTIDS", "SLURM_LAUNCH_NODE_IPADDR",
    "SLURM_DISTRIBUTION"};

}  // namespace

bool describes_job(std::string_view name) { return is_in(&Names::passed, name) || is_in(&Names::of_job, name); }

bool describes_job_of_other_system(std::string_view name) { return is_in(&Names::of_job, name); }

bool describes_node(std::string_view name) { return is_in(&Names::of_node, name); }

bool numbers_srun_step(std::string_view name) { return name == "SLURM_STEP_ID" || name == "SLURM_STEPID"; }

bool is_pid_of_srun_task(std::string_view name) { return name == "SLURM_TASK_PID"; }

bool counts_srun_tasks(std::string_view name) { return name == "SLURM_STEP_NUM_TASKS"; }

bool identifies_srun_task(std::string_view name) {
  return std::ranges::find(kTaskNames, name) != kTaskNames.end() ||
         std::ranges::any_of(kTaskPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace dlaunch::place
