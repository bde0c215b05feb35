// Slurm: its row, srun's command lines for agents, the end of a job, and settings of slurm.conf. Pure.
//
//   slurm_hosts.h  the nodes and slots of the job
//   slurm_gpus.h   its GPUs
#include <algorithm>
#include <array>
#include <cctype>

#include "base/environment.h"
#include "base/text.h"
#include "base/try.h"
#include "hosts/host_name.h"
#include "place/manager_list.h"
#include "place/manager_row.h"
#include "place/slurm_gpus.h"
#include "place/slurm_hosts.h"
#include "place/variables.h"

namespace dlaunch::place {
namespace {

/// Variables that set defaults of srun's options. Their values are meant for the job's own tasks or a user's own steps,
/// not for one agent per node. With these values, srun could:
/// - start more agents, give the agents one GPU, or end the agents early
/// - refuse the step (-v conflicts with -Q)
/// - take the agents' stdin, label their output, or print the output of a prolog first
/// - start the agents without HOME and other variables required by the start
bool changes_srun(std::string_view name) {
  static constexpr auto kNames = std::to_array<std::string_view>(
      {"SLURM_GPUS",          "SLURM_NPROCS",     "SLURM_DISTRIBUTION", "SLURM_HINT",       "SLURM_THREADS_PER_CORE",
       "SLURM_TRES_PER_TASK", "SLURM_EXCLUSIVE",  "SLURM_EXACT",        "SLURM_CORE_SPEC",  "SLURM_EXPORT_ENV",
       "SRUN_EXPORT_ENV",     "SLURM_DEBUG",      "SRUN_DEBUG",         "SLURM_NO_KILL",    "SLURM_KILL_BAD_EXIT",
       "SLURM_STDINMODE",     "SLURM_STDOUTMODE", "SLURM_STDERRMODE",   "SRUN_INPUT",       "SRUN_OUTPUT",
       "SRUN_ERROR",          "SLURM_LABELIO",    "SLURM_TIMELIMIT",    "SLURM_GRES",       "SLURM_CONSTRAINT",
       "SLURM_IMMEDIATE",     "SLURM_MULTI_PROG", "SLURM_TRES_BIND",    "SLURM_GPU_BIND",   "SLURM_GRES_FLAGS",
       "SLURM_PROLOG",        "SLURM_EPILOG",     "SLURM_TASK_PROLOG",  "SLURM_TASK_EPILOG"});
  static constexpr std::array<std::string_view, 8> kPrefixes = {"SLURM_NTASKS",    "SLURM_CPUS_PER_", "SRUN_CPUS_PER_",
                                                                "SLURM_GPUS_PER_", "SLURM_MEM_PER_",  "SLURM_CPU_BIND",
                                                                "SLURM_STEP_",     "SLURM_ARBITRARY"};
  return std::ranges::find(kNames, name) != kNames.end() ||
         std::ranges::any_of(kPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// --overlap: shares the nodes with other steps of the job. --wait=0: a site may configure srun to end all tasks some
/// time after the first exit. -D /: our directory may not exist on the nodes.
constexpr std::string_view kSrun = "-Q --overlap --mpi=none --cpu-bind=none --wait=0 -D / ";

std::string srun_with(const std::string& program, const StepGpus& gpus, std::string_view words) {
  std::string line = shell_quote(program) + ' ' + std::string(kSrun);
  if (gpus.each > 0) line += "--gpus-per-node=" + std::to_string(gpus.each) + ' ';
  return line + std::string(words);
}

/// A shell cannot unset other names, and srun ignores them.
bool is_shell_name(std::string_view name) {
  return std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

/// The variables to unset, so that only the options control srun.
std::vector<std::string> unset_for_srun(const std::vector<std::string>& environment) {
  std::vector<std::string> names;
  for (const std::string& entry : environment) {
    const std::string_view name = variable_name(entry);
    if (changes_srun(name) && is_shell_name(name)) names.emplace_back(name);
  }
  return names;
}

/// Options of newer versions, as variables: older versions of srun do not read these.
/// - In Slurm 23.11 and later, the step of an external launcher gets all CPUs, memory and GPUs of its nodes. srun then
///   ignores the options for GPUs, and Slurm does not count these resources as used.
/// - Slurm 24.11 and later would end the agents together with a rank that is out of memory, if the job or the site
///   sets so.
constexpr auto kVariables = std::to_array<std::string_view>({"SLURM_EXTERNAL_LAUNCHER=1", "SLURM_OOM_KILL_STEP=0"});

/// `environment`: the launcher's; some of its variables would change the meaning of the command. {host} becomes the
/// node, {step} becomes Reach::step. -u: unbuffered bytes instead of lines.
std::string srun_command(const Environment& environment, const std::string& program, const StepGpus& gpus) {
  std::string line = "env ";
  for (const std::string& name : unset_for_srun(environment)) line.append("-u ").append(shell_quote(name)) += ' ';
  for (const std::string_view variable : kVariables) line.append(variable) += ' ';
  const bool own_words = gpus.differ || has_groups(environment);
  return line + srun_with(program, gpus, own_words ? "-u -N1 -n1 {step} -w {host}" : "-u -N1 -n1 -w {host}");
}

/// The value of a setting, in lower case, from slurm.conf or the output of `scontrol show config`; empty: not set.
/// nullopt: the text includes another file. `name`: in lower case.
std::optional<std::string> setting_in(std::string_view configuration, std::string_view name) {
  std::string found;
  std::string joined(configuration);
  for (size_t at = 0; (at = joined.find("\\\n", at)) != std::string::npos;) joined.erase(at, 2);
  for (const std::string& line : split(joined, '\n')) {
    std::string words = lower_case(trim(std::string_view(line).substr(0, line.find('#'))));
    if (words.starts_with("include")) return std::nullopt;
    for (const std::string_view spaced : {" =", "\t=", "= ", "=\t"}) {
      for (size_t at = 0; (at = words.find(spaced)) != std::string::npos;) words.replace(at, spaced.size(), "=");
    }
    std::ranges::replace(words, '\t', ' ');
    for (const std::string& word : split(words, ' ')) {  // one line may have several settings
      const size_t sign = word.find('=');
      if (sign != std::string::npos && word.compare(0, sign, name) == 0) found = word.substr(sign + 1);
    }
  }
  return found;
}

/// The seconds between TERM and KILL.
std::optional<int> slurm_kill_wait(std::string_view configuration) {
  constexpr long kMost = 65535;  // of slurm.conf
  const std::string value = setting_in(configuration, "killwait").value_or("");
  const auto seconds = parse_int(value.substr(0, value.find(' ')), 0, kMost);
  return seconds ? std::optional(static_cast<int>(*seconds)) : std::nullopt;
}

/// The ports at which processes of a job may listen for connections of other nodes. nullopt: an unknown form.
std::optional<PortRange> srun_ports(std::string_view configuration) {
  const auto value = setting_in(configuration, "srunportrange");
  if (!value) return std::nullopt;
  if (value->empty() || *value == "0-0" || *value == "(null)") return PortRange{};
  const auto ends = split(*value, '-');
  const auto first = parse_int(ends[0], 1, kMostPort);
  const auto last = ends.size() == 2 ? parse_int(ends[1], 1, kMostPort) : std::nullopt;
  if (!first || !last || *first > *last) return std::nullopt;
  return PortRange{static_cast<int>(*first), static_cast<int>(*last)};
}

/// A failing agent does not end other agents. Each group of a heterogeneous job has its own srun: a single srun would
/// send stdin only to the first group.
std::optional<DialIn> srun_dial_in(const Environment& environment, const std::string& program, const StepGpus& gpus) {
  const bool groups = has_groups(environment);
  if (gpus.differ || (groups && !gpus.all)) return std::nullopt;
  std::string words = "--no-kill --kill-on-bad-exit=0 -N{count} -n{count} --ntasks-per-node=1 ";
  words += groups ? "{step} -w {hosts}" : "-w {hosts}";
  return DialIn{.command = srun_with(program, gpus, words),
                .unset = unset_for_srun(environment),
                .set = {kVariables.begin(), kVariables.end()},
                .own_name = "$SLURMD_NODENAME",
                .ports_in = srun_ports,
                .ports_command = "scontrol show config",
                .ports_file = filled_variable(environment, "SLURM_CONF").value_or("")};
}

LineMeaning meaning_for_srun(std::string_view line) {
  const auto has = [&](std::string_view text) { return line.find(text) != line.npos; };
  // A remark about our --cpu-bind=none, printed despite -Q.
  if (line == "srun: cluster configuration lacks support for cpu binding") return LineMeaning::noise;
  const bool by_slurm = line.starts_with("slurmstepd") || line.starts_with("srun: ");
  if (by_slurm && (has("*** STEP ") || has("*** JOB "))) {
    if (has(" DUE TO NODE FAILURE")) return LineMeaning::node_failed;
    return has(" DUE TO TIME LIMIT") ? LineMeaning::time_limit : LineMeaning::cancelled;
  }
  if (!line.starts_with("srun: error: ")) return LineMeaning::unknown;
  if (line.ends_with(" has expired") || has("Invalid job id specified")) return LineMeaning::job_ended;
  const bool refused = line.starts_with("srun: error: Task launch for ") && has(" failed on node ");
  return refused ? LineMeaning::refused : LineMeaning::unknown;
}

constexpr long kFirstPort = 29400;
constexpr long kMostNumber = 0xffffffff;  // of jobs and steps
constexpr long kPorts = 600;              // one port per step, so that two steps on a node use different ports
constexpr std::chrono::seconds kGrace{60};

/// SLURM_JOB_ID alone does not prove a job: users set the variable for srun, too.
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
        "the step has " + count(*nodes, "node") + ", and --same-line requires one task per node: --ntasks-per-node=1");
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

}  // namespace

constinit const ManagerRow kSlurm = {
    .name = kSlurmName,
    .job = slurm_job,
    .hosts = [](const Environment& environment, const hosts::ReadText&) { return read_slurm(environment); },
    .cpus = slurm_cpus,
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
