#include "app/commands.h"

#include <fnmatch.h>
#include <spdlog/logger.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "app/console_listener.h"
#include "ascend/check_ascend.h"
#include "base/environment.h"
#include "base/index_cast.h"
#include "base/shared_texts.h"
#include "cli/script.h"
#include "dlaunch/plan.h"
#include "plan/environment.h"
#include "report/preflight.h"
#include "session/host_session.h"
#include "settle/hosts.h"

namespace dlaunch::app {
namespace {

/// The programs as in a plan, without ranks.
std::vector<plan::App> apps_of(const plan::Request& request) {
  std::vector<plan::App> apps;
  for (const plan::AppRequest& asked : request.apps) {
    plan::App app;
    app.argv = asked.argv;
    app.wdir = asked.wdir.empty() ? request.cwd : asked.wdir;
    app.wdir_chosen = !asked.wdir.empty();
    plan::AppEnvironment environment = plan::app_environment(request, asked, app.wdir);
    app.env = std::move(environment.entries);
    app.env_elsewhere = std::move(environment.elsewhere);
    app.chosen = std::move(environment.chosen);
    apps.push_back(std::move(app));
  }
  return apps;
}

/// A program with its own host list is searched only on these hosts.
bool may_run_on(const plan::AppRequest& app, int host, const plan::Allocation& allocation) {
  if (allocation.pools.empty()) return true;
  const std::vector<int>& hosts = at_index(allocation.pools, app.pool).hosts;
  return std::ranges::find(hosts, host) != hosts.end();
}

/// Files of --stage in the ranks' own directories do not exist yet.
bool is_looked_for(const plan::Request& request, const plan::App& app) {
  if (app.argv.empty()) return false;
  const std::string& program = app.argv.front();
  return request.rank_dir.empty() || program.starts_with('/') || program.find('/') == std::string::npos;
}

/// Whether the script is below a rank's own directory, which starts empty.
bool is_in_rank_dir(const plan::Request& request, const std::string& script) {
  const bool relative = !request.rank_dir.empty() && !script.starts_with('/');
  return relative && *std::filesystem::path(script).lexically_normal().begin() != "..";
}

/// The path resolved from the program's directory; empty: unknown before the ranks have their own directories.
std::string script_to_look_for(const plan::Request& request, const std::string& script) {
  if (request.rank_dir.empty() || script.starts_with('/')) return script;
  if (is_in_rank_dir(request, script)) return "";
  std::string path = (std::filesystem::path(request.rank_dir) / script).lexically_normal().string();
  return path.find('{') == std::string::npos ? path : "";
}

/// Whether a name or pattern of --stage matches the script or its directory.
bool is_staged(const std::vector<std::string>& stage, const std::string& script) {
  const std::string first = std::filesystem::path(script).lexically_normal().begin()->string();
  return std::ranges::any_of(stage, [&](const std::string& pattern) {
    const std::string last = std::filesystem::path(pattern + '/').lexically_normal().parent_path().filename().string();
    return last == first || ::fnmatch(last.c_str(), first.c_str(), 0) == 0;
  });
}

/// Scripts that the ranks will not find on any host.
std::vector<report::CheckedThing> unstaged_scripts(int host, const cli::Options& options,
                                                   const plan::Allocation& allocation) {
  std::vector<report::CheckedThing> missing;
  for (const plan::AppRequest& app : options.request.apps) {
    const auto script = cli::script_of(app.argv);
    if (!script || !may_run_on(app, host, allocation) || !is_in_rank_dir(options.request, script->name)) continue;
    if (is_staged(options.stage, script->name)) continue;
    missing.push_back(
        {.name = script->name,
         .found = "",
         .trouble = script->name + " is not in --stage, and the directory of each rank is empty at the start",
         .hint = "add it to --stage, or use ../" + script->name});
  }
  return missing;
}

wire::QueryHost question(int host, const plan::Request& request, const std::vector<plan::App>& apps,
                         const plan::Allocation& allocation) {
  wire::QueryHost query;
  const plan::PlannedHost planned{at_index(allocation.hosts, host), {}};
  for (size_t i = 0; i < apps.size(); ++i) {
    if (!may_run_on(request.apps[i], host, allocation)) continue;
    const plan::App& app = apps[i];
    query.path = search_path(plan::program_environment(app, planned));
    query.wdirs.push_back(plan::program_directory(app, planned));
    query.programs.push_back(is_looked_for(request, app) ? app.argv.front() : "");
    const auto script = cli::script_of(app.argv);
    query.scripts.push_back(script ? script_to_look_for(request, script->name) : "");
    query.in_path.push_back(script && script->in_path ? 1 : 0);
  }
  if (at_index(allocation.hosts, host).reach.address.empty()) {  // with an address the name need not resolve
    for (const plan::Host& other : allocation.hosts) query.names.push_back(other.name);
  }
  return query;
}

void add_things(report::CheckedHost& host, const wire::QueryHost& asked, const wire::HostInfo& facts) {
  for (size_t i = 0; i < std::min(asked.wdirs.size(), facts.wdir_errors.size()); ++i) {
    const auto error = static_cast<int>(facts.wdir_errors[i]);
    host.directories.push_back({asked.wdirs[i], asked.wdirs[i], error == 0 ? "" : std::strerror(error)});
  }
  const size_t programs =
      std::min({asked.programs.size(), facts.programs.size(), facts.missing.size(), facts.program_errors.size()});
  for (size_t i = 0; i < programs; ++i) {
    if (asked.programs[i].empty()) continue;
    std::string missing = facts.missing[i];
    const bool has_reason = missing.empty() || missing.starts_with(kProgram);
    if (!has_reason) missing.append(": ").append(std::strerror(static_cast<int>(facts.program_errors[i])));
    host.programs.push_back({asked.programs[i], facts.programs[i], std::move(missing)});
  }
}

/// If a directory is missing, its scripts are not reported separately.
void add_scripts(report::CheckedHost& host, const wire::QueryHost& asked, const wire::HostInfo& facts) {
  const size_t count =
      std::min({asked.scripts.size(), facts.scripts.size(), facts.script_errors.size(), facts.wdir_errors.size()});
  for (size_t i = 0; i < count; ++i) {
    const std::string& script = asked.scripts[i];
    const bool absolute = script.starts_with('/');
    if (script.empty() || (!absolute && facts.wdir_errors[i] != 0)) continue;
    const auto error = static_cast<int>(facts.script_errors[i]);
    const std::string from = absolute ? "" : " (from " + asked.wdirs[i] + ")";
    host.scripts.push_back(
        {script, facts.scripts[i], error == 0 ? "" : "cannot read " + script + from + ": " + std::strerror(error)});
  }
}

constexpr double kNanosecond = 1e-9;

report::CheckedHost checked(const plan::Host& host, const wire::QueryHost& asked, const launcher::QueriedHost& known) {
  report::CheckedHost checked;
  checked.name = host.name;
  if (known.loss || !known.hello || !known.facts) {
    if (known.loss) checked.hint = known.loss->hint;
    checked.lost = known.loss ? known.loss->why : "the agent did not answer";
    return checked;
  }
  const wire::HostInfo& facts = *known.facts;
  checked.kernel_name = known.hello->host;
  checked.identity = known.hello->identity;
  checked.agent_version = facts.version;
  checked.cpus = static_cast<int>(facts.cpus);
  checked.cpus_from = facts.cpus_from;
  checked.device_kind = plan::to_string(settle::device_kind(facts));
  checked.devices.assign(facts.devices.begin(), facts.devices.end());
  checked.clock_offset = static_cast<double>(known.clock_offset_ns) * kNanosecond;
  checked.clock_error = static_cast<double>(known.clock_error_ns) * kNanosecond;
  if (facts.shm_free >= 0) checked.shm_free = facts.shm_free;
  if (facts.open_files >= 0) checked.open_files = facts.open_files;
  checked.addresses = facts.addresses;
  checked.addresses.resize(asked.names.size());
  checked.unresolved = facts.unresolved;
  add_things(checked, asked, facts);
  add_scripts(checked, asked, facts);
  return checked;
}

}  // namespace

Result<int> check_hosts(const cli::Options& options, const plan::Allocation& allocation,
                        output::StandardStreams& streams, spdlog::logger& log) {
  const Time start = Clock::now();
  ConsoleListener listener(streams);
  session::HostSession session(options.request.job_id, options.of_job(), streams, log, listener);
  if (options.check_ascend) return ascend::check_ascend(options, allocation, session);
  const std::vector<plan::App> apps = apps_of(options.request);
  const auto ask = [&](int host) { return question(host, options.request, apps, allocation); };
  for (const std::string& remark : allocation.remarks) log.info(remark);
  const auto queried = session.query(allocation.hosts, ask);
  if (queried.signal != 0) return fail(session::interrupted_error(queried.signal));
  report::Preflight preflight;
  for (size_t i = 0; i < allocation.hosts.size(); ++i) {
    const int host = static_cast<int>(i);
    preflight.hosts.push_back(checked(allocation.hosts[i], ask(host), queried.hosts[i]));
    auto& scripts = preflight.hosts.back().scripts;
    std::ranges::move(unstaged_scripts(host, options, allocation), std::back_inserter(scripts));
  }
  preflight.elapsed = Clock::now() - start;
  const int code = report::exit_code(preflight);
  if (options.format == cli::Format::json) return streams.print(report::to_json(preflight), code);
  const auto printed = streams.print(report::to_table(preflight), code);
  log.error(report::findings_text(preflight));
  return printed;
}

}  // namespace dlaunch::app
