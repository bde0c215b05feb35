#include <algorithm>
#include <numeric>

#include "plan/environment.h"
#include "plan/overload.h"
#include "plan/placement.h"
#include "plan/plan.h"
#include "plan/table.h"

namespace dlaunch::plan {
namespace {

constexpr long kMostRanks = 1'000'000;  // more is a slip of the hand, and would only end in a machine out of memory

Error refused(std::string where, std::string what, std::string hint = {}) {
  return Error{.where = std::move(where), .what = std::move(what), .why = {}, .hint = std::move(hint)};
}

bool has_nul(std::string_view text) {
  return text.find('\0') != std::string_view::npos;
}

std::optional<Error> check_app(const AppRequest& app) {
  if (app.argv.empty() || app.argv.front().empty()) {
    return refused({}, "no program to run", "name the program after the options: dlaunch -n 2 PROGRAM");
  }
  const std::string where = printable(app.argv.front());
  if (app.ranks && *app.ranks < 1) return refused(where, "-n " + std::to_string(*app.ranks) + " is not 1 or more");
  if (std::ranges::any_of(app.argv, has_nul) || has_nul(app.wdir)) {
    return refused(where, "a NUL byte in an argument or directory, which no program can be given");
  }
  for (const EnvSetting& setting : app.env) {
    if (setting.name.empty() || setting.name.find('=') != std::string::npos || has_nul(setting.name)) {
      return refused(where, "-x " + printable(setting.name) + ": not a name for a variable");
    }
    if (setting.value && has_nul(*setting.value))
      return refused(where, "-x " + setting.name + ": a NUL byte in the value");
  }
  return std::nullopt;
}

std::optional<Error> check(const Request& request, const Allocation& allocation) {
  if (request.apps.empty()) return refused({}, "no program to run");
  for (const AppRequest& app : request.apps) {
    if (auto error = check_app(app)) return error;
    if (app.wdir.empty() && request.cwd.empty()) {
      return refused({}, "the working directory is gone", "cd to a directory that exists, or name one with -wdir");
    }
  }
  const auto open = std::ranges::count_if(request.apps, [](const AppRequest& app) { return !app.ranks; });
  if (open > 1) {
    return refused({}, std::to_string(open) + " of " + std::to_string(request.apps.size()) + " programs have no -n",
                   "give -n to each program; one at most may go without and takes what is left");
  }
  if (allocation.hosts.empty()) return refused({}, "no host to run on");
  return std::nullopt;
}

/// How many ranks each app gets; an app without -n gets the room that the others leave.
Result<std::vector<int>> ranks_of_apps(const Request& request, const std::vector<int>& capacity) {
  long named = 0;
  for (const AppRequest& app : request.apps) named += app.ranks.value_or(0);
  const long room = std::accumulate(capacity.begin(), capacity.end(), 0L);
  std::vector<int> ranks;
  long total = 0;
  for (const AppRequest& app : request.apps) {
    const long mine = app.ranks ? *app.ranks : room - named;
    if (mine < 1) {
      return fail(refused(printable(app.argv.front()),
                          "no room is left for a program without -n: " + std::to_string(room) + " in all, " +
                              std::to_string(named) + " taken",
                          "give it a -n"));
    }
    total += mine;
    if (total > kMostRanks) return fail(refused({}, "more than " + std::to_string(kMostRanks) + " ranks"));
    ranks.push_back(static_cast<int>(mine));
  }
  return ranks;
}

void add_apps(Plan& plan, const Request& request, const std::vector<int>& ranks) {
  int first_rank = 0;
  for (size_t i = 0; i < request.apps.size(); ++i) {
    const AppRequest& asked = request.apps[i];
    const std::string& wdir = asked.wdir.empty() ? request.cwd : asked.wdir;
    AppEnvironment environment = app_environment(request, asked, wdir);
    plan.apps.push_back({.argv = asked.argv,
                         .env = std::move(environment.entries),
                         .wdir = wdir,
                         .first_rank = first_rank,
                         .ranks = ranks[i]});
    first_rank += ranks[i];
    for (std::string& note : environment.notes) {
      if (std::ranges::find(plan.notes, note) == plan.notes.end()) plan.notes.push_back(std::move(note));
    }
  }
}

/// Adds the hosts that get ranks; gives the place of each of the allocation's hosts among them.
std::vector<int> add_hosts(Plan& plan, const Allocation& allocation, const std::vector<int>& ranks_per_host) {
  std::vector<int> places(ranks_per_host.size(), -1);
  for (size_t i = 0; i < ranks_per_host.size(); ++i) {
    if (ranks_per_host[i] == 0) continue;
    places[i] = static_cast<int>(plan.hosts.size());
    plan.hosts.push_back({.host = allocation.hosts[i], .ranks = {}});
    plan.hosts.back().ranks.reserve(static_cast<size_t>(ranks_per_host[i]));
  }
  return places;
}

void add_ranks(Plan& plan, const std::vector<int>& host_of_rank, const std::vector<int>& places) {
  plan.ranks.reserve(host_of_rank.size());
  int app = 0;
  for (const int host_index : host_of_rank) {
    const int number = static_cast<int>(plan.ranks.size());
    const App& current = plan.apps[static_cast<size_t>(app)];
    if (number == current.first_rank + current.ranks) ++app;
    Rank rank{.rank = number,
              .app = app,
              .host = places[static_cast<size_t>(host_index)],
              .local_rank = 0,
              .device = {},
              .env = {}};
    PlannedHost& planned = plan.hosts[static_cast<size_t>(rank.host)];
    rank.local_rank = static_cast<int>(planned.ranks.size());
    const std::vector<int>& devices = planned.host.devices;
    if (!devices.empty()) rank.device = devices[planned.ranks.size() % devices.size()];
    planned.ranks.push_back(number);
    plan.ranks.push_back(std::move(rank));
  }
}

}  // namespace

Result<Plan> make_plan(const Request& request, const Allocation& allocation) {
  if (auto error = check(request, allocation)) return fail(std::move(*error));
  const bool open = std::ranges::any_of(request.apps, [](const AppRequest& app) { return !app.ranks; });
  const bool devices = std::ranges::any_of(allocation.hosts, [](const Host& host) { return !host.devices.empty(); });
  const std::vector<int> capacity = capacities(allocation, open && devices);
  const auto ranks = ranks_of_apps(request, capacity);
  if (!ranks) return fail(ranks.error());
  const int total = std::accumulate(ranks->begin(), ranks->end(), 0);
  const std::vector<int> per_host = ranks_per_host(request.binding.map_by, capacity, total);
  if (!request.oversubscribe) {
    if (auto error = refuse_overload(allocation, per_host)) return fail(std::move(*error));
  }

  Plan plan;
  plan.job_id = request.job_id;
  plan.binding = request.binding;
  add_apps(plan, request, *ranks);
  add_ranks(plan, hosts_of_ranks(request.binding, per_host), add_hosts(plan, allocation, per_host));
  add_rank_environments(plan);
  for (std::string& note : overload_notes(allocation, per_host)) plan.notes.push_back(std::move(note));
  return plan;
}

}  // namespace dlaunch::plan
