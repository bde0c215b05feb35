#include "plan/environment.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "base/index_cast.h"
#include "base/printable.h"
#include "place/variables.h"
#include "plan/inheritance.h"
#include "plan/table.h"
#include "plan/task_gpus.h"

namespace dlaunch::plan {
namespace {

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

}  // namespace

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

void set_round(Plan& plan, int round) {
  plan.round = round;
  if (plan.restarts > 0) set_in_programs(plan, kRoundVariable, round);
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

}  // namespace dlaunch::plan
