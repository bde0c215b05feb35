#include "place/slurm_step.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/environment.h"
#include "base/text.h"

namespace dlaunch::place {
namespace {

/// Variables that set defaults of srun's options. Their values are meant for the job's own tasks or a user's own steps,
/// not for one agent per node. With these values, srun could:
/// - start more agents, give them one GPU, or end them early
/// - refuse the step (-v conflicts with -Q)
/// - take their stdin, label their output, or print the output of a prolog before it
/// - start them without HOME and other variables required by the start
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

/// True if each node's srun has its own options, in Reach::step.
bool nodes_differ(const std::vector<std::string>& environment, const StepGpus& gpus) {
  return gpus.differ || filled_variable(environment, "SLURM_HET_SIZE").has_value();
}

/// Slurm 23.11 and later gives a step of an external launcher all GPUs of its node, and ignores the options for GPUs.
/// With these options, Slurm 24.11 never starts a step on the second node of an uneven job. Older versions do not read
/// the variable.
constexpr std::string_view kAllGpus = "SLURM_EXTERNAL_LAUNCHER=1 ";

}  // namespace

/// -u: unbuffered bytes instead of lines.
std::string srun_command(const Environment& environment, const std::string& program, const StepGpus& gpus) {
  std::string line = "env ";
  for (const std::string& name : unset_for_srun(environment)) line.append("-u ").append(shell_quote(name)) += ' ';
  if (gpus.differ) line += kAllGpus;
  const bool own_words = nodes_differ(environment, gpus);
  return line + srun_with(program, gpus, own_words ? "-u -N1 -n1 {step} -w {host}" : "-u -N1 -n1 -w {host}");
}

/// A failing agent does not end other agents.
std::optional<DialIn> srun_dial_in(const Environment& environment, const std::string& program, const StepGpus& gpus) {
  if (nodes_differ(environment, gpus)) return std::nullopt;
  return DialIn{.command = srun_with(
                    program, gpus, "--no-kill --kill-on-bad-exit=0 -N{count} -n{count} --ntasks-per-node=1 -w {hosts}"),
                .unset = unset_for_srun(environment),
                .own_name = "$SLURMD_NODENAME",
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

}  // namespace dlaunch::place
