#include "plan/inheritance.h"

#include <algorithm>
#include <array>

#include "base/environment.h"
#include "place/variables.h"
#include "plan/environment.h"
#include "plan/mpi.h"
#include "plan/outer_job.h"
#include "plan/rank_table.h"
#include "plan/task_gpus.h"
#include "plan/visible.h"

namespace dlaunch::plan {
namespace {

// Variables about this machine, this terminal, this login.
constexpr std::array<std::string_view, 28> kWithheld = {
    "HOSTNAME", "HOST",   "PWD",      "OLDPWD",          "SHLVL",     "_",        "DISPLAY", "WAYLAND_DISPLAY",
    "STY",      "WINDOW", "WINDOWID", "TERM_SESSION_ID", "LS_COLORS", "MAIL",     "HOME",    "USER",
    "LOGNAME",  "SHELL",  "TMPDIR",   "XAUTHORITY",      "HOSTTYPE",  "MACHTYPE", "OSTYPE",  "PPID",
    "UID",      "EUID",   "TTY",      "GPG_TTY"};
constexpr std::array<std::string_view, 7> kWithheldPrefixes = {"SSH_",    "XDG_", "DBUS_", "TMUX",
                                                               "VSCODE_", "PMI",  "OMPI_"};  // PMI: PMIX_ too

bool is_rank_variable(std::string_view name) { return std::ranges::find(kRankVariables, name) != kRankVariables.end(); }

bool wants(const Request& request, Framework framework) {
  return std::ranges::find(request.frameworks, framework) != request.frameworks.end();
}

/// Whether dlaunch sets the variable, or an outer MPI job did.
bool is_reserved(const Request& request, std::string_view name) {
  if (is_rank_variable(name) || name == kRoundVariable || name == kAttemptVariable) return true;
  if (name == "PWD" && !request.rank_dir.empty()) return true;
  if (request.rank_table && std::ranges::find(kRankTableVariables, name) != kRankTableVariables.end()) return true;
  if (request.mpi != Mpi::none && left_by_outer_mpi(name)) return true;
  return request.visible != Visible::unchanged && std::ranges::find(kVisibleVariables, name) != kVisibleVariables.end();
}

/// Whether scripts of users set the variable too: RANK_ID, RANK_SIZE, DEVICE_ID. In a rank of an outer job of dlaunch,
/// the value is the value of this rank. With --env-for mindspore or mindspore-dynamic, only dlaunch sets these
/// variables.
bool is_shared_name(const Request& request, std::string_view name) {
  if (!is_rank_variable(name) || name.starts_with("DLAUNCH_") || request.rank_table) return false;
  return !wants(request, Framework::mindspore) && !wants(request, Framework::mindspore_dynamic) &&
         !variable(request.environment, "DLAUNCH_RANK");
}

struct LauncherNames {
  Framework framework;
  std::string_view prefix;
};
constexpr LauncherNames kNamesOfLaunchers[] = {{Framework::slurm, "SLURM"},
                                               {Framework::openmpi, "OMPI_"},
                                               {Framework::openmpi, "PRTE_"},
                                               {Framework::openmpi, "PMIX_"},
                                               {Framework::mpich, "PMI_"},
                                               {Framework::mpich, "MPI_LOCAL"},
                                               {Framework::torchrun, "TORCHELASTIC_"},
                                               {Framework::deepspeed, "TORCHELASTIC_"},
                                               {Framework::horovod, "HOROVOD_"},
                                               {Framework::mindspore, "MS_"},
                                               {Framework::mindspore_dynamic, "MS_"}};

/// Whether dlaunch replaces the launcher that sets such variables: other values are leftovers of an outer job.
bool is_set_by_launcher(const Request& request, std::string_view name) {
  if (!left_by_outer_job(name) || name == place::kTasksPerNode) return false;
  if (name == "TORCHELASTIC_ERROR_FILE") return true;  // a file of one process of the outer job
  return std::ranges::any_of(kNamesOfLaunchers, [&](const LauncherNames& row) {
    return name.starts_with(row.prefix) && wants(request, row.framework);
  });
}

}  // namespace

bool withheld_elsewhere(std::string_view name) {
  const bool setting = name.starts_with("OMPI_MCA_") || name.starts_with("PMIX_MCA_");  // library settings by the user
  if (setting && !left_by_outer_job(name)) return false;
  return place::describes_job(name) || std::ranges::find(kWithheld, name) != kWithheld.end() ||
         std::ranges::any_of(kWithheldPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool tells_of_node(std::string_view name) { return place::describes_node(name) || names_task_gpus(name); }

bool is_no_heritage(const Request& request, std::string_view name) {
  if (is_reserved(request, name)) return true;
  if (name == place::kTasksPerNode && wants(request, Framework::slurm)) return false;
  return (!request.frameworks.empty() || request.rank_table) && left_by_outer_job(name);
}

bool is_inherited(const Request& request, std::string_view name) {
  const bool of_srun = name.starts_with("SLURM") || name.starts_with("SPANK_");
  if (request.no_environment && !(of_srun && wants(request, Framework::slurm))) return false;
  if (!request.whole_environment) return !is_no_heritage(request, name);
  return (is_shared_name(request, name) || !is_reserved(request, name)) && !is_set_by_launcher(request, name);
}

bool is_kept(const Request& request, std::string_view name) {
  constexpr Framework kReplace[] = {Framework::torchrun, Framework::deepspeed, Framework::horovod,
                                    Framework::mindspore_dynamic};
  return request.whole_environment && left_by_outer_job(name) && !withheld_elsewhere(name) &&
         std::ranges::none_of(kReplace, [&](Framework framework) { return wants(request, framework); });
}

bool stays_here(const Request& request, std::string_view name, bool by_manager) {
  if (by_manager && name.starts_with("SLURM")) {
    const bool passed = name == place::kTasksPerNode && wants(request, Framework::slurm);
    return tells_of_node(name) || (left_by_outer_job(name) && !passed);
  }
  if (by_manager && tells_of_node(name)) return true;
  if (by_manager && request.whole_environment) return place::describes_job_of_other_system(name);
  return withheld_elsewhere(name);
}

}  // namespace dlaunch::plan
