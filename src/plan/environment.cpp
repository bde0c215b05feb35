#include "plan/environment.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/index_cast.h"
#include "base/printable.h"
#include "place/variables.h"
#include "plan/mpi.h"
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

/// Whether dlaunch or an outer MPI job sets the variable.
bool is_reserved(const Request& request, std::string_view name) {
  if (is_rank_variable(name) || name == kRoundVariable || name == kAttemptVariable) return true;
  if (name == "PWD" && !request.rank_dir.empty()) return true;
  if (request.rank_table && std::ranges::find(kRankTableVariables, name) != kRankTableVariables.end()) return true;
  if (request.mpi != Mpi::none && left_by_outer_mpi(name)) return true;
  return request.visible != Visible::unchanged && std::ranges::find(kVisibleVariables, name) != kVisibleVariables.end();
}

/// Returns true if scripts of users may also set the variable: RANK_ID, RANK_SIZE, DEVICE_ID. Returns false if dlaunch
/// runs in a rank of an outer job of dlaunch: then the outer dlaunch has set the variable. Also returns false with
/// --env-for mindspore or mindspore-dynamic: then only dlaunch sets the variable.
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

/// Whether a rank needs --env-all to inherit the variable. Patterns of -x do not match these names.
bool is_no_heritage(const Request& request, std::string_view name) {
  if (is_reserved(request, name)) return true;
  if (name == place::kTasksPerNode && wants(request, Framework::slurm)) return false;
  return (!request.frameworks.empty() || request.rank_table) && left_by_outer_job(name);
}

/// Whether ranks on this machine get the variable. srun passes on its own variables also with --export=NONE.
bool is_inherited(const Request& request, std::string_view name) {
  const bool of_srun = name.starts_with("SLURM") || name.starts_with("SPANK_");
  if (request.no_environment && !(of_srun && wants(request, Framework::slurm))) return false;
  if (!request.whole_environment) return !is_no_heritage(request, name);
  return (is_shared_name(request, name) || !is_reserved(request, name)) && !is_set_by_launcher(request, name);
}

/// --env-all: whether the user's value replaces the value of --env-for. Launchers of PyTorch, Horovod and MindSpore
/// replace the user's value.
bool is_kept(const Request& request, std::string_view name) {
  constexpr Framework kReplace[] = {Framework::torchrun, Framework::deepspeed, Framework::horovod,
                                    Framework::mindspore_dynamic};
  return request.whole_environment && left_by_outer_job(name) && !withheld_elsewhere(name) &&
         std::ranges::none_of(kReplace, [&](Framework framework) { return wants(request, framework); });
}

/// Whether the variable is not sent to other hosts. `by_manager`: a batch system starts the agents.
bool stays_here(const Request& request, std::string_view name, bool by_manager) {
  if (by_manager && name.starts_with("SLURM")) {
    const bool passed = name == place::kTasksPerNode && wants(request, Framework::slurm);
    return tells_of_node(name) || (left_by_outer_job(name) && !passed);
  }
  if (by_manager && tells_of_node(name)) return true;
  if (by_manager && request.whole_environment) return place::describes_job_of_other_system(name);
  return withheld_elsewhere(name);
}

/// Variables in the order of their first setting. Not copyable: the index refers to the names of the entries.
class Variables {
 public:
  void set(std::string_view name, std::string_view value) {
    std::string entry;
    entry.reserve(name.size() + 1 + value.size());
    entry.append(name).append("=").append(value);
    const auto [at, is_new] = index_.try_emplace(std::string(name), entries_.size());
    if (is_new) {
      entries_.push_back(std::move(entry));
    } else {
      entries_[at->second] = std::move(entry);
    }
  }
  bool has(std::string_view name) const { return index_.contains(std::string(name)); }
  std::vector<std::string> take() { return std::move(entries_); }

 private:
  std::vector<std::string> entries_;
  std::unordered_map<std::string, size_t> index_;
};

/// Calls visit(name, value) for each well-formed entry of the launcher's environment.
template <class Visit>
void for_each_variable(const std::vector<std::string>& environment, Visit visit) {
  for (const std::string& entry : environment) {
    const size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    visit(std::string_view(entry).substr(0, equals), std::string_view(entry).substr(equals + 1));
  }
}

/// -x VAR and -x 'PREFIX_*'. Returns false if the launcher has no such variable.
bool copy_from_launcher(const Request& request, std::string_view name, Variables& variables,
                        std::vector<std::string>& chosen) {
  const bool pattern = name.ends_with('*');
  const std::string_view prefix = name.substr(0, name.size() - (pattern ? 1 : 0));
  bool found = false;
  for_each_variable(request.environment, [&](std::string_view known, std::string_view value) {
    const bool wanted = pattern ? known.starts_with(prefix) && !is_no_heritage(request, known) : known == name;
    if (!wanted) return;
    found = true;
    if (known == "PWD") return;
    variables.set(known, value);
    chosen.emplace_back(known);
  });
  return found;
}

std::array<bool, kRankVariables.size()> left_to_the_rank(const App& app) {
  std::array<bool, kRankVariables.size()> left;
  left.fill(true);
  for (const std::string& entry : app.env) {
    const auto at = std::ranges::find(kRankVariables, variable_name(entry));
    if (at != kRankVariables.end()) at_index(left, at - kRankVariables.begin()) = false;
  }
  return left;
}

std::optional<Error> refuse_own_names(const Host& host, const Rank& rank) {
  if (host.env.empty()) return std::nullopt;
  std::unordered_set<std::string_view> own;
  for (const std::string& entry : rank.env) own.insert(variable_name(entry));
  for (const std::string& entry : host.env) {
    if (!own.contains(variable_name(entry))) continue;
    return Error{.where = escaped(host.from),
                 .what = "not supported: env." + std::string(variable_name(entry)),
                 .why = "each rank has its own value",
                 .hint = "remove the entry, or set one value for all ranks with -x"};
  }
  return std::nullopt;
}

constexpr std::array<std::string_view, 11> kOuterJobPrefixes = {
    "TORCHELASTIC_",   "PMI_",         "PMIX_",      "PRTE_",           "OMPI_COMM_",
    "OMPI_MCA_orte_",  "OMPI_MCA_ess", "OMPI_WORLD", "MV2_COMM_WORLD_", "HOROVOD_GLOO_RENDEZVOUS_",
    "JAX_COORDINATOR_"};

constexpr std::array<std::string_view, 57> kOuterJobNames = {
    // torchrun, deepspeed
    "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "NODE_RANK",
    "MASTER_ADDR", "MASTER_PORT", "LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE", "ROLE_NAME", "ROLE_RANK", "ROLE_WORLD_SIZE",
    // JAX, TensorFlow
    "JAX_NUM_PROCESSES", "JAX_PROCESS_ID", "JAX_LOCAL_DEVICE_IDS", "TF_CONFIG", "CM_CHIEF_IP", "CM_CHIEF_PORT",
    "CM_CHIEF_DEVICE", "CM_WORKER_SIZE", "CM_WORKER_IP",
    // MindSpore: msrun, rank table scripts
    "DEVICE_NUM", "MS_ROLE", "MS_SCHED_HOST", "MS_SCHED_PORT", "MS_WORKER_NUM", "MS_SERVER_NUM", "MS_NODE_ID",
    "MS_WORKER_IP", "MSRUN_CPU_LIST",
    // horovodrun
    "HOROVOD_HOSTNAME", "HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE",
    "HOROVOD_CROSS_RANK", "HOROVOD_CROSS_SIZE", "HOROVOD_CONTROLLER", "HOROVOD_CPU_OPERATIONS", "HOROVOD_GLOO_IFACE",
    "HOROVOD_ELASTIC",
    // mpirun, Hydra
    "OMPI_UNIVERSE_SIZE", "OMPI_COMMAND", "OMPI_ARGV", "OMPI_NUM_APP_CTX", "OMPI_APP_CTX_NUM_PROCS", "OMPI_FIRST_RANKS",
    "OMPI_FILE_LOCATION", "OMPI_APP_SIZES", "OMPI_MCA_pmix", "OMPI_MCA_initial_wdir", "MPI_LOCALRANKID",
    "MPI_LOCALNRANKS", "HYDI_CONTROL_FD"};

void add(Rank& rank, const App& app, std::string_view name, const std::string& value) {
  set_variable(rank.env, app.chosen, std::string(name).append("=").append(value));
}

}  // namespace

bool withheld_elsewhere(std::string_view name) {
  const bool setting = name.starts_with("OMPI_MCA_") || name.starts_with("PMIX_MCA_");  // library settings by the user
  if (setting && !left_by_outer_job(name)) return false;
  return place::describes_job(name) || std::ranges::find(kWithheld, name) != kWithheld.end() ||
         std::ranges::any_of(kWithheldPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool tells_of_node(std::string_view name) { return place::describes_node(name) || names_task_gpus(name); }

AppEnvironment app_environment(const Request& request, const AppRequest& app, const std::string& wdir,
                               bool by_manager) {
  AppEnvironment made;
  Variables variables;
  for_each_variable(request.environment, [&](std::string_view name, std::string_view value) {
    if (!is_inherited(request, name) || (by_manager && name == place::kHostsOfJob)) return;
    variables.set(name, value);
    if (is_kept(request, name)) made.chosen.emplace_back(name);
  });
  for (const std::string_view name : kPythonVariables) {
    if (!variables.has(name)) variables.set(name, "1");
  }
  if (request.rank_dir.empty()) variables.set("PWD", wdir);

  for (const EnvSetting& setting : app.env) {
    if (setting.value) {
      variables.set(setting.name, *setting.value);
      made.chosen.push_back(setting.name);
    } else if (!copy_from_launcher(request, setting.name, variables, made.chosen)) {
      made.notes.push_back("-x " + setting.name + ": not found in the environment of dlaunch");
    }
  }
  made.entries = variables.take();
  const std::unordered_set<std::string_view> chosen(made.chosen.begin(), made.chosen.end());
  for (const std::string& entry : made.entries) {
    const std::string_view name = variable_name(entry);
    if (name == "PWD" || chosen.contains(name) || !stays_here(request, name, by_manager))
      made.elsewhere.push_back(entry);
  }
  if (has_task_gpus(made.entries) && !chosen.contains(kGpusOfNode)) {
    std::erase_if(made.entries, [](const std::string& entry) { return variable_name(entry) == kGpusOfNode; });
  }
  return made;
}

void add_rank_environments(Plan& plan, bool rank_table) {
  std::vector<std::array<bool, kRankVariables.size()>> left;
  for (const App& app : plan.apps) left.push_back(left_to_the_rank(app));
  const std::string size = std::to_string(plan.ranks.size());
  const std::string nodes = std::to_string(plan.hosts.size());
  const bool by_ordinal = plan.visible != Visible::unchanged || rank_table ||
                          std::ranges::find(plan.frameworks, Framework::mindspore) != plan.frameworks.end();
  for (Rank& rank : plan.ranks) {
    const PlannedHost& host = plan.host_of(rank);
    const std::string number = std::to_string(rank.rank);
    const std::string local_rank = std::to_string(rank.local_rank);
    const std::string local_size = std::to_string(host.ranks.size());
    const std::string node_rank = std::to_string(rank.host);
    const std::string device = rank.device ? std::to_string(*rank.device) : local_rank;
    const std::string named = by_ordinal && rank.ordinal ? std::to_string(*rank.ordinal) : device;
    const std::array<std::string_view, kRankVariables.size()> values = {number,    size,  named,          plan.job_id,
                                                                        number,    size,  local_rank,     local_size,
                                                                        node_rank, nodes, host.host.name, device};
    rank.env.reserve(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      if (!at_index(left, rank.app)[i]) continue;
      std::string& entry = rank.env.emplace_back();
      entry.reserve(kRankVariables[i].size() + 1 + values[i].size());
      entry.append(kRankVariables[i]).append("=").append(values[i]);
    }
  }
}

void set_variable(std::vector<std::string>& environment, const std::vector<std::string>& chosen, std::string entry) {
  const std::string_view name = variable_name(entry);
  if (std::ranges::find(chosen, name) != chosen.end()) return;
  std::erase_if(environment, [&](const std::string& known) { return variable_name(known) == name; });
  environment.push_back(std::move(entry));
}

namespace {

void set_in_programs(Plan& plan, std::string_view name, int number) {
  const std::string entry = std::string(name) + '=' + std::to_string(number);
  for (App& app : plan.apps) {
    set_variable(app.env, app.chosen, entry);
    if (!app.env_elsewhere.empty()) set_variable(app.env_elsewhere, app.chosen, entry);
  }
}

}  // namespace

Plan of_round(Plan plan, int round) {
  plan.round = round;
  if (plan.restarts > 0) set_in_programs(plan, kRoundVariable, round);
  return plan;
}

void set_attempt(Plan& plan, std::optional<int> attempt) {
  plan.attempt = attempt;
  if (attempt) set_in_programs(plan, kAttemptVariable, *attempt);
}

std::optional<Error> refuse_own_names(const Plan& plan) {
  for (const PlannedHost& planned : plan.hosts) {
    const Rank& rank = plan.rank(planned.ranks.front());
    if (auto error = refuse_own_names(planned.host, rank)) return error;
  }
  for (const Host& host : plan.spare) {
    if (auto error = refuse_own_names(host, plan.ranks.front())) return error;
  }
  return std::nullopt;
}

const std::string& program_directory(const App& app, const PlannedHost& host) {
  return app.wdir_chosen || host.host.wdir.empty() ? app.wdir : host.host.wdir;
}

std::vector<std::string> program_environment(const App& app, const PlannedHost& host) {
  const std::vector<std::string>& base = host.host.local ? app.env : app.env_elsewhere;
  const std::string& directory = program_directory(app, host);
  const bool own_directory = &directory != &app.wdir && !app.rank_dirs;
  if (host.host.env.empty() && !own_directory) return base;
  std::vector<std::string> own = host.host.env;
  if (own_directory) own.push_back("PWD=" + directory);
  std::unordered_set<std::string_view> taken(app.chosen.begin(), app.chosen.end());
  std::vector<std::string> environment;
  std::vector<std::string> added;
  for (auto entry = own.rbegin(); entry != own.rend(); ++entry) {  // the last entry of a name wins
    if (taken.insert(variable_name(*entry)).second) added.push_back(*entry);
  }
  taken.clear();
  for (const std::string& entry : added) taken.insert(variable_name(entry));
  for (const std::string& entry : base) {
    if (!taken.contains(variable_name(entry))) environment.push_back(entry);
  }
  environment.insert(environment.end(), added.rbegin(), added.rend());
  return environment;
}

std::vector<std::string> rank_environment(const Plan& plan, const Rank& rank) {
  std::vector<std::string> environment = program_environment(plan.app_of(rank), plan.host_of(rank));
  environment.insert(environment.end(), rank.env.begin(), rank.env.end());
  return environment;
}

bool left_by_outer_job(std::string_view name) {
  if (name.starts_with("PMIX_MCA_") || name.starts_with("PRTE_MCA_")) return false;
  return place::identifies_srun_task(name) || std::ranges::find(kOuterJobNames, name) != kOuterJobNames.end() ||
         std::ranges::any_of(kOuterJobPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
}

Result<Plan> with_rank_table(Plan plan, RankTable table) {
  for (Rank& rank : plan.ranks) {
    const App& app = plan.app_of(rank);
    const PlannedHost& planned = plan.host_of(rank);
    add(rank, app, "DEVICE_NUM", std::to_string(planned.ranks.size()));
    if (planned.host.local && !table.path.empty()) add(rank, app, kRankTableVariable, table.path);
  }
  plan.rank_table = std::move(table);
  if (auto error = refuse_own_names(plan)) return fail(*std::move(error));
  return plan;
}

}  // namespace dlaunch::plan
