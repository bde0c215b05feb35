// Slurm: its row, the end of a job, and the time between TERM and KILL. Pure.
//
//   slurm_hosts.h  the nodes and slots of the job
//   slurm_gpus.h   its GPUs
//   slurm_step.h   srun's command line for agents
#include <array>

#include "base/environment.h"
#include "base/text.h"
#include "base/try.h"
#include "hosts/host_name.h"
#include "place/manager_list.h"
#include "place/manager_row.h"
#include "place/node_number.h"
#include "place/slurm_gpus.h"
#include "place/slurm_hosts.h"
#include "place/slurm_step.h"
#include "place/variables.h"

namespace dlaunch::place {
namespace {

constexpr long kFirstPort = 29400;
constexpr long kMostNumber = 0xffffffff;  // of jobs and steps
constexpr long kPorts = 600;              // one port per step, so that two steps on a node use different ports
constexpr std::chrono::seconds kGrace{60};

/// SLURM_JOB_ID alone is also what a user sets for srun.
std::optional<Error> unlisted(const Environment& environment) {
  return unlisted_job(environment, {.manager = "Slurm",
                                    .number = "SLURM_JOB_ID",
                                    .other_number = "SLURM_JOBID",
                                    .proofs = {"SLURM_NNODES", "SLURM_JOB_NUM_NODES", "SLURM_TASKS_PER_NODE"},
                                    .list = "SLURM_JOB_NODELIST"});
}

Copies copies(const Environment& environment) { return {slurm_copies(environment), "srun"}; }

/// A step with one task for each node: SLURM_PROCID, SLURM_STEP_NUM_TASKS, the first of SLURM_STEP_NODELIST.
Result<std::optional<NodePlace>> node(const Environment& environment) {
  if (!filled_variable(environment, "SLURM_PROCID") || !filled_variable(environment, "SLURM_STEP_NUM_TASKS"))
    return std::optional<NodePlace>();
  NodePlace place;
  place.nodes = TRY(node_number(environment, "SLURM_STEP_NUM_TASKS"));
  place.node = TRY(node_number(environment, "SLURM_PROCID"));
  const auto nodes = TRY(node_number(environment, "SLURM_STEP_NUM_NODES"));
  if (nodes && place.nodes != nodes) {
    return unknown_node(
        "SLURM_STEP_NUM_TASKS", std::to_string(place.nodes.value_or(0)),
        "the step has " + count(*nodes, "node") + " and requires one task per node: --ntasks-per-node=1");
  }
  const std::string list = filled_variable(environment, "SLURM_STEP_NODELIST").value_or("");
  auto names = hosts::expand_names(hosts::split_outside_brackets(list, ',').front());
  if (list.empty() || !names) return place;
  const auto number = [&](std::string_view name) {
    return parse_int(filled_variable(environment, name).value_or(""), 0, kMostNumber).value_or(0);
  };
  const long port = kFirstPort + (number("SLURM_JOB_ID") + number("SLURM_STEP_ID")) % kPorts;
  place.rendezvous = names->front() + ':' + std::to_string(port);
  return place;
}

std::optional<Attempt> attempt(const Environment& environment) {
  if (!variable(environment, "SLURM_JOB_ID")) return std::nullopt;
  return counted_attempt(environment, "SLURM_RESTART_COUNT");
}

/// The end of the job, in seconds since the epoch: SLURM_JOB_END_TIME.
std::optional<std::int64_t> job_end(const Environment& environment) {
  if (!variable(environment, "SLURM_JOB_ID")) return std::nullopt;
  const auto end = variable(environment, "SLURM_JOB_END_TIME");
  return end ? whole_number(*end) : std::nullopt;
}

/// Slurm after 22.05 sets the end of the job in the environment.
std::optional<PlannedEnd> preemption(const Environment& environment) {
  if (!slurm_job(environment)) return std::nullopt;
  return PlannedEnd{.grace = kGrace,
                    .end = job_end(environment),
                    .end_command = "env SLURM_TIME_FORMAT=%s squeue -h -o %e -j " +
                                   shell_quote(variable(environment, "SLURM_JOB_ID").value_or("")),
                    .signals_steps = true};
}

std::optional<std::int64_t> end_in(std::string_view squeue) {
  return whole_number(squeue.substr(0, squeue.find('\n')));
}

/// Each job has the file in its environment, so scontrol runs only on clusters that include files or send the file.
Setting kill_wait(const Environment& environment) {
  return {.file = filled_variable(environment, "SLURM_CONF").value_or(""), .command = "scontrol show config"};
}

constexpr std::array<std::string_view, 1> kPrograms = {"srun"};
constexpr std::array<Way, 1> kWays = {{{"slurm", kPrograms}}};

/// The seconds between TERM and KILL of Slurm, from slurm.conf or the output of `scontrol show config`. nullopt: the
/// text does not set KillWait, or includes another file.
std::optional<int> slurm_kill_wait(std::string_view configuration) {
  constexpr std::string_view kName = "killwait";
  constexpr long kMost = 65535;  // of slurm.conf
  std::optional<int> found;
  for (const std::string& line : split(configuration, '\n')) {
    const std::string words = lower_case(trim(std::string_view(line).substr(0, line.find('#'))));
    if (words.starts_with("include")) return std::nullopt;
    const size_t sign = words.find('=');
    if (sign == std::string::npos || trim(std::string_view(words).substr(0, sign)) != kName) continue;
    const std::string_view value = trim(std::string_view(words).substr(sign + 1));
    const auto seconds = parse_int(value.substr(0, value.find(' ')), 0, kMost);
    if (!seconds) return std::nullopt;
    found = static_cast<int>(*seconds);
  }
  return found;
}

}  // namespace

constinit const ManagerRow kSlurm = {
    .name = kSlurmName,
    .job = slurm_job,
    .hosts = [](const Environment& environment, const hosts::ReadText&) { return read_slurm(environment); },
    .unlisted = unlisted,
    .copies = copies,
    .node = node,
    .attempt = attempt,
    .ways = kWays,
    .outside = "not in a Slurm job",
    .start_in = "start dlaunch in salloc or sbatch",
    .starts_here_too = true,
    .command = srun_command,
    .dial_in = srun_dial_in,
    .meaning = meaning_for_srun,
    .says_devices = slurm_says_gpus,
    .only_listed_devices = true,
    .gpus_command = slurm_gpus_command,
    .step_gpus = slurm_step_gpus,
    .gpu_words = slurm_gpu_words,
    .node_variable = "SLURM_NODEID",
    .preemption = preemption,
    .end_in = end_in,
    .kill_wait = kill_wait,
    .kill_wait_in = slurm_kill_wait};

}  // namespace dlaunch::place
