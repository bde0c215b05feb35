#include <algorithm>

#include "base/index_cast.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/try.h"
#include "dlaunch/plan.h"
#include "plan/assign.h"
#include "plan/binding.h"
#include "plan/environment.h"
#include "plan/frameworks.h"
#include "plan/mpi.h"
#include "plan/overload.h"
#include "plan/rank_dir.h"
#include "plan/replacements.h"
#include "plan/table.h"
#include "plan/visible.h"

namespace dlaunch::plan {
namespace {

// execve(2): three quarters of the default stack, independent of the rlimit
constexpr size_t kMostArguments = 6U << 20U;
constexpr size_t kNameColumns = 100;

Error refused(std::string where, std::string what, std::string hint = {}) {
  return Error{.where = std::move(where), .what = std::move(what), .why = {}, .hint = std::move(hint)};
}

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

std::optional<Error> check_app(const AppRequest& app) {
  if (app.argv.empty() || app.argv.front().empty()) {
    return refused({}, "missing program", "put the program after the options: dlaunch -n 2 PROGRAM");
  }
  const std::string where = escaped(app.argv.front());
  if (app.ranks && *app.ranks < 1)
    return refused(where, "-n: invalid number \"" + std::to_string(*app.ranks) + "\": expected 1 or more");
  if (std::ranges::any_of(app.argv, has_nul) || has_nul(app.wdir)) {
    return refused(where, "invalid NUL byte in an argument or directory");
  }
  for (const EnvSetting& setting : app.env) {
    if (setting.name.empty() || setting.name.find('=') != std::string::npos || has_nul(setting.name)) {
      return refused(where, "-x: invalid variable name \"" + escaped(setting.name) + "\"");
    }
    if (setting.value && has_nul(*setting.value))
      return refused(where, "-x " + setting.name + ": invalid NUL byte in the value");
  }
  return std::nullopt;
}

/// With a rank table, all programs get their devices from the table.
std::optional<Error> refuse_beside_table(const Request& request) {
  const auto& frameworks = request.frameworks;
  if (!request.rank_table || std::ranges::find(frameworks, Framework::openmpi) == frameworks.end()) return std::nullopt;
  return Error{.where = "",
               .what = "--rank-table conflicts with --env-for openmpi",
               .why = "MindSpore would set DEVICE_ID to OMPI_COMM_WORLD_LOCAL_RANK, not to the value of the table",
               .hint = "remove one of them"};
}

std::optional<Error> check(const Request& request, const Allocation& allocation) {
  if (request.apps.empty()) return refused({}, "missing program");
  for (const AppRequest& app : request.apps) {
    if (auto error = check_app(app)) return error;
    if (app.wdir.empty() && request.cwd.empty()) {
      return refused({}, "the working directory does not exist",
                     "run dlaunch in an existing directory, or set a directory with --wdir");
    }
  }
  int pools = 0;
  for (const AppRequest& app : request.apps) pools = std::max(pools, app.pool + 1);
  for (int pool = 0; pool < pools; ++pool) {
    const auto open =
        std::ranges::count_if(request.apps, [&](const AppRequest& app) { return !app.ranks && app.pool == pool; });
    if (open <= 1 || request.in_rounds) continue;
    return refused(
        {}, "missing -n for " + std::to_string(open) + " of " + std::to_string(request.apps.size()) + " programs",
        "set -n for each program; one program without -n uses the remaining slots");
  }
  if (allocation.hosts.empty()) return refused({}, "missing host");
  if (auto error = refuse_combination(request.frameworks, request.visible)) return error;
  return refuse_beside_table(request);
}

/// -n devices must not fall back to CPUs. Other launchers' lines mean the same with other options.
std::optional<Error> refuse_without_devices(const Request& request, const Allocation& allocation) {
  if (std::ranges::none_of(request.apps, &AppRequest::for_devices)) return std::nullopt;
  const auto without = std::ranges::find_if(allocation.hosts, [](const Host& host) { return host.devices.empty(); });
  if (without == allocation.hosts.end()) return std::nullopt;
  return refused("devices", "not found on " + escaped(without->name) + ": this command starts one rank per device",
                 "set the number of ranks (in dlaunch: -n N); DLAUNCH_FAKE_DEVICES=N simulates N devices");
}

size_t bytes_of(const std::vector<std::string>& words) {
  size_t bytes = 0;
  for (const std::string& word : words) bytes += word.size() + 1 + sizeof(char*);
  return bytes;
}

/// Rejects arguments above the limit of Linux before a rank starts. The limit is far below the size of a frame.
std::optional<Error> refuse_too_long(const Plan& plan) {
  size_t most_of_host = 0;
  for (const PlannedHost& host : plan.hosts) most_of_host = std::max(most_of_host, bytes_of(host.host.env));
  for (const Host& host : plan.spare) most_of_host = std::max(most_of_host, bytes_of(host.env));
  for (const App& app : plan.apps) {
    const size_t bytes = bytes_of(app.argv) + bytes_of(app.env) + app.wdir.size() + most_of_host;
    if (bytes <= kMostArguments) continue;
    const auto longest = std::ranges::max_element(app.env, {}, &std::string::size);
    std::string what = "arguments and environment too large: " + std::to_string(bytes) +
                       " bytes, the limit of Linux is " + std::to_string(kMostArguments);
    std::string hint = "put large data into a file";
    if (longest != app.env.end()) hint += "; the longest variable is " + escaped(variable_name(*longest));
    return refused(shorten(escaped(app.argv.front()), kNameColumns), std::move(what), std::move(hint));
  }
  return std::nullopt;
}

void add_note(Plan& plan, std::string note) {
  if (std::ranges::find(plan.notes, note) == plan.notes.end()) plan.notes.push_back(std::move(note));
}

void add_apps(Plan& plan, const Request& request, const Allocation& allocation, const std::vector<int>& ranks,
              bool elsewhere) {
  int first_rank = 0;
  for (size_t i = 0; i < request.apps.size(); ++i) {
    const AppRequest& asked = request.apps[i];
    const std::string& wdir = asked.wdir.empty() ? request.cwd : asked.wdir;
    AppEnvironment environment = app_environment(request, asked, wdir, allocation.by_manager);
    plan.apps.push_back({.argv = asked.argv,
                         .env = std::move(environment.entries),
                         .env_elsewhere = {},
                         .chosen = std::move(environment.chosen),
                         .wdir = wdir,
                         .wdir_chosen = !asked.wdir.empty(),
                         .rank_dirs = !request.rank_dir.empty(),
                         .first_rank = first_rank,
                         .ranks = ranks[i]});
    first_rank += ranks[i];
    if (elsewhere) plan.apps.back().env_elsewhere = std::move(environment.elsewhere);
    for (std::string& note : environment.notes) add_note(plan, std::move(note));
  }
}

/// Adds the hosts with ranks. Returns the new index of each host of the allocation, or -1.
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

void add_spare(Plan& plan, const Allocation& allocation, const std::vector<int>& ranks_per_host) {
  for (size_t i = 0; i < ranks_per_host.size(); ++i) {
    const Host& host = allocation.hosts[i];
    const bool closed = host.max_slots == 0 || (host.slots == 0 && !host.slots_unknown && host.devices.empty());
    if (ranks_per_host[i] > 0 || closed) continue;
    plan.spare.push_back(host);
    if (host.slots_unknown) plan.spare.back().slots = 1;  // dlaunch does not ask a spare host for its slots
  }
}

void add_ranks(Plan& plan, const std::vector<int>& host_of_rank, const std::vector<int>& places) {
  plan.ranks.reserve(host_of_rank.size());
  int app = 0;
  for (const int host_index : host_of_rank) {
    const int number = static_cast<int>(plan.ranks.size());
    const App& current = plan.app(app);
    if (number == current.first_rank + current.ranks) ++app;
    Rank rank{.rank = number,
              .app = app,
              .host = at_index(places, host_index),
              .local_rank = 0,
              .device = {},
              .env = {},
              .slots = {},
              .ordinal = {},
              .dir = {}};
    PlannedHost& planned = plan.host_of(rank);
    rank.local_rank = static_cast<int>(planned.ranks.size());
    const std::vector<int>& devices = planned.host.devices;
    if (!devices.empty()) rank.device = devices[planned.ranks.size() % devices.size()];
    planned.ranks.push_back(number);
    plan.ranks.push_back(std::move(rank));
  }
}

/// A dynamic cluster numbers its devices by itself. The planned devices must therefore be all devices of the host.
bool means_devices_of_host(const Request& request, const Allocation& allocation) {
  return request.visible == Visible::unchanged &&
         std::ranges::find(request.frameworks, Framework::mindspore_dynamic) != request.frameworks.end() &&
         !allocation.hosts.empty() &&
         std::ranges::none_of(allocation.hosts, [](const Host& host) { return host.devices.empty(); });
}

void add_slots(Plan& plan, const Request& request) {
  const std::vector<std::string> turns = split(request.cpu_list, '/');
  for (Rank& rank : plan.ranks) rank.slots = turns[static_cast<size_t>(rank.local_rank) % turns.size()];
  for (const RankPlace& place : request.rank_places) plan.rank(place.rank).slots = place.slots;
}

}  // namespace

Result<Plan> make_plan(const Request& request, const Allocation& allocation) {
  if (has_replacements(request, allocation)) {
    Request without = request;
    Allocation used = allocation;
    auto replacements = TRY(take_replacements(request, used));
    without.spares = 0;
    auto plan = TRY(make_plan(without, used));
    if (request.restarts > 0) plan.replacements = std::move(replacements);
    plan.spare.clear();
    return plan;
  }
  if (means_devices_of_host(request, allocation)) {
    Request meant = request;
    meant.visible = Visible::host;
    return make_plan(meant, allocation);
  }
  if (auto error = check(request, allocation)) return fail(std::move(*error));
  if (auto error = refuse_without_devices(request, allocation)) return fail(std::move(*error));
  const auto assigned = TRY(assign(request, allocation));
  const std::vector<int>& per_host = assigned.ranks_per_host;
  if (!request.oversubscribe) {
    if (auto error = refuse_overload(allocation, per_host)) return fail(std::move(*error));
  }

  Plan plan;
  plan.job_id = request.job_id;
  plan.binding = request.binding;
  if (request.bind_by_count) {
    plan.binding = bound_by_count(request.binding, assigned.host_of_rank.size(), any_crowded(allocation, per_host),
                                  request.threads_are_cpus);
  }
  plan.binding.overload |= request.oversubscribe;
  plan.frameworks = request.frameworks;
  plan.visible = request.visible;
  for (const std::string& note : allocation.notes) add_note(plan, note);
  const std::vector<int> places = add_hosts(plan, allocation, per_host);
  if (chosen_mpi(request) != Mpi::none) add_spare(plan, allocation, per_host);
  const bool elsewhere = std::ranges::any_of(plan.hosts, [](const PlannedHost& host) { return !host.host.local; }) ||
                         std::ranges::any_of(plan.spare, [](const Host& host) { return !host.local; });
  add_apps(plan, request, allocation, assigned.ranks_of_app, elsewhere);
  plan.restarts = request.restarts;
  plan = of_round(std::move(plan), 0);
  set_attempt(plan, request.attempt);
  add_ranks(plan, assigned.host_of_rank, places);
  add_slots(plan, request);
  if (auto error = refuse_too_long(plan)) return fail(std::move(*error));
  if (auto error = refuse_visible(plan)) return fail(std::move(*error));
  show_devices(plan);
  add_rank_environments(plan, request.rank_table);
  add_mpi(plan, chosen_mpi(request));
  if (auto error = add_rank_dirs(plan, request.rank_dir)) return fail(std::move(*error));
  if (auto error = refuse_own_names(plan)) return fail(std::move(*error));
  if (allocation.by_manager) plan.manager = allocation.manager;
  plan.remarks = allocation.remarks;
  for (std::string& remark : overload_remarks(allocation, per_host)) plan.remarks.push_back(std::move(remark));
  return plan;
}

}  // namespace dlaunch::plan
