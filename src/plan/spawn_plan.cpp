#include "plan/spawn_plan.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/printable.h"
#include "base/spawn_program.h"
#include "base/try.h"
#include "plan/environment.h"
#include "plan/mpi.h"

namespace dlaunch::plan {
namespace {

constexpr std::string_view kWorldVariable = "DLAUNCH_WORLD";

Error refused(std::string what, std::string why = {}) {
  return Error{.where = "spawn", .what = std::move(what), .why = std::move(why), .hint = {}};
}

bool is_too_long(std::string_view text) { return text.size() >= kLongestWord; }
bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

std::optional<Error> check_app(const SpawnApp& app) {
  if (app.argv.empty() || app.argv.front().empty()) return refused("missing program");
  if (app.ranks < 1)
    return refused("invalid number of processes \"" + std::to_string(app.ranks) + "\"", "expected 1 or more");
  if (std::ranges::any_of(app.argv, has_nul) || has_nul(app.wdir) || std::ranges::any_of(app.env, has_nul)) {
    return refused("invalid NUL byte in an argument, directory or variable");
  }
  if (std::ranges::any_of(app.argv, is_too_long) || is_too_long(app.wdir) ||
      std::ranges::any_of(app.env, is_too_long)) {
    return refused("argument, directory or variable too long: " + std::to_string(kLongestWord) + " bytes or more");
  }
  for (const std::string& entry : app.env) {
    const size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0)
      return refused("invalid variable \"" + escaped(entry) + "\"", "expected NAME=VALUE");
  }
  return std::nullopt;
}

std::optional<Error> check(const Plan& plan, const SpawnRequest& request) {
  if (request.apps.empty()) return refused("missing program");
  if (plan.sidecar) return refused("not supported: new processes in a job with a " + plan.sidecar->name);
  if (request.apps.size() > kMostPrograms) {
    return refused("invalid number of programs \"" + std::to_string(request.apps.size()) + "\"",
                   "expected at most " + std::to_string(kMostPrograms));
  }
  long total = 0;
  for (const SpawnApp& app : request.apps) {
    if (auto error = check_app(app)) return error;
    total += app.ranks;
  }
  if (total > kMostSpawned) {
    return refused("invalid number of processes \"" + std::to_string(total) + "\"",
                   "expected at most " + std::to_string(kMostSpawned));
  }
  const int first = plan.worlds.size(1, static_cast<int>(plan.ranks.size()));
  if (static_cast<long>(plan.ranks.size()) - first + total > kMostEverSpawned) {
    return refused("too many spawned processes", "the limit is " + std::to_string(kMostEverSpawned) + " per job");
  }
  return std::nullopt;
}

bool is_named(const Host& host, std::string_view name) {
  return host.name == name || std::ranges::find(host.other_names, name) != host.other_names.end();
}

bool is_usable(const Plan& plan, size_t host) { return host >= plan.hosts.size() || !plan.hosts[host].unreachable; }

/// The hosts for an app, as indices for host_at().
Result<std::vector<int>> hosts_for(const Plan& plan, const SpawnApp& app) {
  std::vector<int> hosts;
  for (const std::string& name : app.hosts) {
    size_t host = 0;
    while (host < host_count(plan) && !is_named(host_at(plan, host), name)) ++host;
    if (host == host_count(plan)) return fail(refused("unknown host \"" + escaped(name) + "\""));
    if (!is_usable(plan, host)) return fail(refused("cannot connect to " + escaped(name)));
  }
  for (size_t host = 0; host < host_count(plan); ++host) {
    const auto wanted = [&](const std::string& name) { return is_named(host_at(plan, host), name); };
    const bool named = app.hosts.empty() || std::ranges::any_of(app.hosts, wanted);
    if (named && is_usable(plan, host)) hosts.push_back(static_cast<int>(host));
  }
  return hosts;
}

/// The host of the next rank: the host that exceeds its slots least.
int place(const Plan& plan, const std::vector<int>& hosts, const std::vector<int>& running) {
  const auto beyond = [&](int host) {
    const auto at = static_cast<size_t>(host);
    return std::max(-1, running[at] - host_at(plan, at).slots);
  };
  return *std::ranges::min_element(hosts, {}, beyond);  // the first of equal hosts
}

std::string directory_for(const Plan& plan, const SpawnRequest& request, const std::string& asked) {
  const Rank& asker = plan.rank(request.asker);
  const std::string& base = program_directory(plan.app_of(asker), plan.host_of(asker));
  return asked.starts_with('/') ? asked : base + '/' + asked;
}

void replace(std::vector<std::string>& environment, const std::vector<std::string>& with) {
  std::unordered_set<std::string_view> taken;
  std::vector<std::string> added;
  for (auto entry = with.rbegin(); entry != with.rend(); ++entry) {
    if (taken.insert(variable_name(*entry)).second) added.push_back(*entry);
  }
  std::erase_if(environment, [&](const std::string& entry) { return taken.contains(variable_name(entry)); });
  environment.insert(environment.end(), std::move_iterator(added.rbegin()), std::move_iterator(added.rend()));
}

/// Removes the asker's variables of --env-for: they are wrong for the new ranks.
void forget_frameworks(const Plan& plan, App& app) {
  if (plan.frameworks.empty()) return;
  for (std::vector<std::string>* environment : {&app.env, &app.env_elsewhere}) {
    std::erase_if(*environment, [&](const std::string& entry) {
      const std::string_view name = variable_name(entry);
      return left_by_outer_job(name) && !left_by_outer_mpi(name) &&
             std::ranges::find(app.chosen, name) == app.chosen.end();
    });
  }
}

App app_for(const Plan& plan, const SpawnRequest& request, const SpawnApp& asked) {
  App app = plan.app(plan.rank(request.asker).app);
  const bool moves = std::exchange(app.rank_dirs, false) || !asked.wdir.empty();
  app.argv = asked.argv;
  app.ranks = asked.ranks;
  forget_frameworks(plan, app);
  std::vector<std::string> env;
  if (!asked.wdir.empty()) {
    app.wdir = directory_for(plan, request, asked.wdir);
    app.wdir_chosen = true;
  }
  if (moves) env.push_back("PWD=" + app.wdir);
  env.insert(env.end(), asked.env.begin(), asked.env.end());
  for (std::vector<std::string>* environment : {&app.env, &app.env_elsewhere}) {
    if (!environment->empty()) replace(*environment, env);
  }
  for (const std::string& entry : asked.env) app.chosen.emplace_back(variable_name(entry));
  return app;
}

size_t size_of(const std::vector<App>& apps) {
  size_t size = 0;
  for (const App& app : apps) {
    for (const auto* words : {&app.argv, &app.env, &app.env_elsewhere}) {
      for (const std::string& word : *words) size += word.size();
    }
  }
  return size;
}

/// Adds one rank of the next app.
void add_rank(const Plan& plan, int host, SpawnPlan& spawned, std::vector<int>& running, std::vector<int>& here) {
  const auto at = static_cast<size_t>(host);
  ++running[at];
  if (at >= plan.hosts.size()) spawned.spare.insert(at - plan.hosts.size());
  Rank rank;
  rank.rank = static_cast<int>(spawned.ranks.size());
  rank.app = static_cast<int>(plan.apps.size() + spawned.apps.size());
  rank.host = host;
  rank.local_rank = here[at]++;
  spawned.ranks.push_back(std::move(rank));
}

void add_own(const Plan& plan, SpawnPlan& spawned, const std::vector<int>& here) {
  const std::string size = std::to_string(spawned.ranks.size());
  const std::string world = std::to_string(plan.worlds.last() + 1);
  for (Rank& rank : spawned.ranks) {
    const auto host = static_cast<size_t>(rank.host);
    const std::pair<std::string_view, std::string> values[] = {{"DLAUNCH_JOB_ID", plan.job_id},
                                                               {kWorldVariable, world},
                                                               {"DLAUNCH_RANK", std::to_string(rank.rank)},
                                                               {"DLAUNCH_SIZE", size},
                                                               {"DLAUNCH_LOCAL_RANK", std::to_string(rank.local_rank)},
                                                               {"DLAUNCH_LOCAL_SIZE", std::to_string(here[host])},
                                                               {"DLAUNCH_NODE_RANK", std::to_string(rank.host)},
                                                               {"DLAUNCH_NUM_NODES", std::to_string(plan.hosts.size())},
                                                               {"DLAUNCH_HOST", plan.hosts[host].host.name}};
    const std::vector<std::string>& chosen = spawned.apps[static_cast<size_t>(rank.app) - plan.apps.size()].chosen;
    for (const auto& [name, value] : values) {
      if (std::ranges::find(chosen, name) == chosen.end()) rank.env.push_back(std::string(name) + '=' + value);
    }
  }
}

}  // namespace

const Host& host_at(const Plan& plan, size_t index) {
  return index < plan.hosts.size() ? plan.hosts[index].host : plan.spare[index - plan.hosts.size()];
}

size_t host_count(const Plan& plan) { return plan.hosts.size() + plan.spare.size(); }

Result<SpawnPlan> plan_spawn(const Plan& plan, const SpawnRequest& request, std::vector<int> running) {
  if (auto error = check(plan, request)) return fail(*std::move(error));
  SpawnPlan spawned;
  running.resize(host_count(plan));
  std::vector<int> here(running.size());
  for (const SpawnApp& asked : request.apps) {
    const auto hosts = TRY(hosts_for(plan, asked));
    App app = app_for(plan, request, asked);
    app.first_rank = static_cast<int>(plan.ranks.size() + spawned.ranks.size());
    for (int i = 0; i < asked.ranks; ++i) add_rank(plan, place(plan, hosts, running), spawned, running, here);
    spawned.apps.push_back(std::move(app));
  }
  if (plan.spawned_bytes + size_of(spawned.apps) > kMostSpawnedBytes) {
    return fail(refused("arguments and variables of spawned programs too large",
                        "the limit is " + std::to_string(kMostSpawnedBytes >> 20) + " MiB per job"));
  }
  if (!spawned.spare.empty()) return spawned;
  add_own(plan, spawned, here);
  if (plan.mpi != Mpi::none) add_spawned_mpi(spawned.apps, spawned.ranks, static_cast<int>(plan.apps.size()), here);
  return spawned;
}

int RoundPlan::add(SpawnPlan spawned) {
  const auto first = static_cast<int>(plan_.ranks.size());
  for (size_t i = 0; i < spawned.ranks.size(); ++i) {
    plan_.host(spawned.ranks[i].host).ranks.push_back(first + static_cast<int>(i));
  }
  plan_.spawned_bytes += size_of(spawned.apps);
  std::ranges::move(spawned.apps, std::back_inserter(plan_.apps));
  std::ranges::move(spawned.ranks, std::back_inserter(plan_.ranks));
  return plan_.worlds.begin(first);
}

void RoundPlan::add_hosts(const std::set<size_t>& spare) {
  for (const size_t index : spare) plan_.hosts.push_back({.host = plan_.spare[index], .ranks = {}});
  for (auto last = spare.rbegin(); last != spare.rend(); ++last) {
    plan_.spare.erase(plan_.spare.begin() + static_cast<std::ptrdiff_t>(*last));
  }
}

}  // namespace dlaunch::plan
