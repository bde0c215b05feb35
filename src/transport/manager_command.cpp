#include "transport/manager_command.h"

#include <algorithm>
#include <array>

#include "base/environment.h"
#include "base/text.h"

namespace dlaunch::transport {
namespace {

/// srun takes its options' defaults from these, which mean the job's own tasks and not our one agent a node: it would
/// start more of them, give them one GPU, or refuse the step.
bool changes_srun(std::string_view name) {
  static constexpr std::array<std::string_view, 9> kNames = {
      "SLURM_GPUS",          "SLURM_NPROCS",    "SLURM_DISTRIBUTION", "SLURM_HINT",     "SLURM_THREADS_PER_CORE",
      "SLURM_TRES_PER_TASK", "SLURM_EXCLUSIVE", "SLURM_EXACT",        "SLURM_CORE_SPEC"};
  static constexpr std::array<std::string_view, 8> kPrefixes = {"SLURM_NTASKS",    "SLURM_CPUS_PER_", "SRUN_CPUS_PER_",
                                                                "SLURM_GPUS_PER_", "SLURM_MEM_PER_",  "SLURM_CPU_BIND",
                                                                "SLURM_STEP_",     "SLURM_ARBITRARY"};
  return std::ranges::find(kNames, name) != kNames.end() ||
         std::ranges::any_of(kPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// -u: bytes as they come, not lines. --overlap: beside whatever else runs in the job. --wait=0: a site may have srun
/// end all tasks some time after the first; -D /: our directory need not be there.
constexpr std::string_view kSrun = "srun -Q -u --overlap -N1 -n1 --mpi=none --cpu-bind=none --wait=0 -D / -w {host}";

}  // namespace

std::string_view manager_program(plan::Manager::Kind kind) {
  return kind == plan::Manager::Kind::slurm ? "srun" : std::string_view();
}

bool command_gives_all(plan::Manager::Kind kind, const std::vector<std::string>& environment) {
  if (kind != plan::Manager::Kind::slurm) return false;
  return !filled_variable(environment, "SLURM_HET_SIZE") && !filled_variable(environment, "SLURM_GPUS") &&
         !filled_variable(environment, "SLURM_GPUS_PER_TASK");
}

std::string manager_command(plan::Manager::Kind kind, const std::vector<std::string>& environment) {
  if (kind != plan::Manager::Kind::slurm) return {};
  std::string line = "env";
  for (const std::string& entry : environment) {
    const std::string_view name = variable_name(entry);
    if (changes_srun(name)) line.append(" -u ").append(shell_quote(name));
  }
  return line + ' ' + std::string(kSrun);
}

}  // namespace dlaunch::transport
