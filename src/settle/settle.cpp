#include "settle/settle.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <utility>

#include "base/environment.h"
#include "base/index_cast.h"
#include "base/try.h"
#include "dlaunch/plan.h"
#include "job/job.h"
#include "output/file_layout.h"
#include "report/record_file.h"
#include "settle/hosts.h"
#include "settle/rank_table.h"

namespace dlaunch::settle {
namespace {

constexpr std::chrono::seconds kEndLimit{5};            // of squeue
constexpr std::chrono::seconds kConfigurationLimit{2};  // of scontrol, qstat and qconf
constexpr int kMostAttempts = 1000000;

/// Each agent runs in its own step with one node, numbered 0 there.
void number_nodes(plan::Allocation& allocation, std::string_view variable) {
  for (size_t i = 0; i < allocation.hosts.size(); ++i) {
    allocation.hosts[i].env.push_back(std::string(variable) + '=' + std::to_string(i));
  }
}

/// Adds the data of the nodes that the agents, or the batch system's command, require.
void add_node_data(const SettledJob& job, const place::Place& place, plan::Allocation& allocation) {
  if (!allocation.by_manager) return;
  const place::ManagerRow& manager = *place.job()->manager;
  const bool sets_number = std::ranges::count(job.options.request.frameworks, plan::Framework::slurm) > 0;
  if (!manager.node_variable.empty() && !sets_number) number_nodes(allocation, manager.node_variable);
  if (!manager.gpu_words || job.way.step_gpus.empty()) return;
  for (plan::Host& host : allocation.hosts) {
    const auto found = job.way.step_gpus.find(host.name);
    if (!host.reach.step.empty()) host.reach.step += ' ';
    host.reach.step +=
        manager.gpu_words(found == job.way.step_gpus.end() ? std::nullopt : std::optional(found->second));
  }
}

/// In a dry run the other nodes of --same-line are not connected: each node is assumed to be equal to this node.
void assume_nodes_as_here(plan::Allocation& allocation) {
  const auto here = std::ranges::find_if(allocation.hosts, &plan::Host::local);
  if (here == allocation.hosts.end()) return;
  for (plan::Host& host : allocation.hosts) {
    if (!host.reach.node || !host.slots_unknown) continue;
    host.slots = here->slots;
    host.slots_from = "as on node 0";
    host.slots_unknown = false;
    host.device_kind = here->device_kind;
    host.devices = here->devices;
    host.devices_from = here->devices_from;
  }
  allocation.remarks.emplace_back(
      "the other nodes have not connected: dlaunch assumes that all nodes have the same number of slots");
}

/// Whether the host's agent runs in the job and its devices are not configured.
bool is_open(const plan::Host& host) { return !host.local && host.devices.empty(); }

bool wants_devices(const plan::Request& request) {
  return request.visible != plan::Visible::unchanged ||
         std::ranges::any_of(request.apps, &plan::AppRequest::for_devices);
}

/// Without a list of the step's GPUs, the machine's GPUs may belong to another job.
bool are_of_job(const place::ManagerRow& manager, const wire::HostInfo& info) {
  const bool listed = info.devices_from.find("_VISIBLE_DEVICES") != std::string::npos;
  return !manager.only_listed_devices || listed || device_kind(info) == plan::DeviceKind::ascend;
}

void fill_devices(plan::Host& host, const wire::HostInfo& info) {
  host.device_kind = device_kind(info);
  host.devices.assign(info.devices.begin(), info.devices.end());
  host.devices_from = info.devices_from + " there";
  if (!host.slots_unknown) host.cpus = std::max(host.cpus, host.slots);
}

/// Whether agents start by the batch system's own command on nodes without configured devices, and the job's variables
/// or the options indicate devices.
bool needs_devices(const SettledJob& job, const place::Place& place, const plan::Allocation& allocation) {
  if (!allocation.by_manager || job.options.hosts.fake_devices) return false;
  const auto& request = job.options.request;
  const place::ManagerRow& manager = *place.job()->manager;
  const bool says_devices = manager.says_devices && manager.says_devices(request.environment);
  return (wants_devices(request) || says_devices) && std::ranges::any_of(allocation.hosts, is_open);
}

Settling<plan::Allocation> with_devices(plan::Allocation allocation, const SettledJob& job, const place::Place& place,
                                        const Facts& facts) {
  QueryHosts question{.queries = {}, .hosts = allocation.hosts};
  for (const plan::Host& host : allocation.hosts) {
    question.queries.push_back(is_open(host) ? std::optional(QueryHosts::Query{}) : std::nullopt);
  }
  const auto known_hosts = TRY(known(facts, std::move(question)));
  std::vector<size_t> found;
  bool all = true;
  for (size_t i = 0; i < known_hosts.size(); ++i) {
    const auto& info = known_hosts[i];
    if (!info || !is_open(allocation.hosts[i])) continue;
    const bool has_some = !info->devices.empty() && are_of_job(*place.job()->manager, *info);
    if (has_some) found.push_back(i);
    all = all && (has_some || allocation.hosts[i].slots_unknown);
  }
  if (!all && !wants_devices(job.options.request)) return allocation;
  for (const size_t i : found) fill_devices(allocation.hosts[i], *known_hosts[i]);
  return allocation;
}

/// The end of the job, from its environment or from the batch system.
Settling<std::optional<std::int64_t>> job_end(const place::OwnEnd& own, const cli::Options& options, bool by_manager,
                                              const Facts& facts) {
  if (own.preemption.end) return own.preemption.end;
  const bool asks = starts_ranks(options) && by_manager && !options.policy.checkpoint.grace;
  if (!asks || own.preemption.end_command.empty()) return std::nullopt;
  const auto answer = TRY(known(facts, RunCommand{own.preemption.end_command, kEndLimit}));
  return own.manager->end_in(answer.text);
}

/// The time until KILL after the batch system's signal, less the time in which dlaunch stops ranks that did not end.
Settling<std::optional<std::chrono::milliseconds>> told_grace(const place::OwnEnd& own, const cli::Options& options,
                                                              const Facts& facts) {
  const bool asks = starts_ranks(options) && !options.policy.checkpoint.grace;
  if (!asks || own.preemption.grace_command.empty()) return std::nullopt;
  const auto answer = TRY(known(facts, RunCommand{own.preemption.grace_command, kConfigurationLimit}));
  const auto grace = own.manager->grace_in(answer.text);
  if (!grace) return std::nullopt;
  const std::chrono::milliseconds all = *grace;
  return std::max(all / 2, all - options.policy.grace - job::kKillWait);
}

/// Adds whether the job may be interactive, and, if the user did not set it, the ranks' time to save their state.
Settling<job::Checkpoint> settle_checkpoint(const cli::Options& options, bool by_manager, const place::Place& place,
                                            const Facts& facts) {
  job::Checkpoint checkpoint = options.policy.checkpoint;
  if (checkpoint.signal == 0) return checkpoint;
  checkpoint.at_terminal = TRY(known(facts, FindTerminal{STDERR_FILENO}));
  const auto& own = place.end;
  if (!own) return checkpoint;
  if (own->preemption.grace) checkpoint.usual_grace = *own->preemption.grace;
  const auto told = TRY(told_grace(*own, options, facts));
  if (told) checkpoint.usual_grace = *told;
  checkpoint.by_step = own->preemption.signals_steps && by_manager;
  const auto end = TRY(job_end(*own, options, by_manager, facts));
  if (!end) return checkpoint;
  const auto clocks = TRY(known(facts, ReadClocks{}));
  const std::chrono::nanoseconds left = std::chrono::seconds(*end) - std::chrono::nanoseconds(clocks.wall_ns);
  checkpoint.job_end = clocks.now + left;
  return checkpoint;
}

/// Settings of the batch system.
struct ManagerSettings {
  std::optional<std::chrono::seconds> kill_wait = {};  ///< the time between TERM and KILL
  std::optional<DialIn> dial_in = {};                  ///< with the ports for the agents' connections
};

/// Asked for a Slurm job with agents in its steps, and for a PBS job if the queue sets kill_delay. The same text may
/// have the ports.
Settling<ManagerSettings> settings_of_manager(const cli::Options& options, const WayToHosts& way,
                                              const place::Place& place, const Facts& facts) {
  ManagerSettings settings{.dial_in = way.dial_in};
  const place::ManagerRow* const manager = way.by_manager() ? place.job()->manager : nullptr;
  if (!starts_ranks(options) || !manager || !manager->kill_wait) return settings;
  const place::Setting where = manager->kill_wait(options.request.environment);
  DialIn* const dial_in = settings.dial_in ? &*settings.dial_in : nullptr;
  const auto take = [&](std::string_view text) {
    if (text.empty()) return;  // no answer in time
    if (const auto seconds = manager->kill_wait_in(text)) settings.kill_wait = std::chrono::seconds(*seconds);
    if (!dial_in || !dial_in->ports_in || dial_in->ports_command != where.command) return;
    const auto ports = dial_in->ports_in(text);
    if (!ports) return;
    dial_in->ports_in = nullptr;
    if (dial_in->ports == PortRange{}) dial_in->ports = *ports;
  };
  if (!where.file.empty()) {
    const auto text = TRY(known(facts, ReadFile{where.file}));
    if (text) take(*text);
  }
  if (!settings.kill_wait && !where.command.empty()) {
    const auto answer = TRY(known(facts, RunCommand{where.command, kConfigurationLimit}));
    take(answer.text);
  }
  return settings;
}

/// The files of ranks in an attempt of that number, and the record of the previous attempt.
FindFiles traces_of(const cli::Options& options, int number) {
  FindFiles traces;
  if (!options.report_file.empty()) traces.paths.push_back(report::kept_record(options.report_file, number - 1));
  if (!options.output.files) return traces;
  const auto& files = *options.output.files;
  if (files.by_stream || output::is_template(files.target)) {
    traces.patterns = output::attempt_patterns(files, number);
    return traces;
  }
  output::RankFacts facts;
  facts.attempt = number;
  traces.paths.push_back(std::filesystem::path(output::stacks_base(files, facts)).parent_path());
  return traces;
}

/// The number of requeues. Attempts never share files: if the batch system does not count attempts, uses the first
/// number without a directory of files.
Settling<std::optional<int>> settle_attempt(const cli::Options& options, const place::Place& place,
                                            const Facts& facts) {
  const auto& attempt = place.attempt;
  if (!attempt) return std::nullopt;
  int number = attempt->number;
  if (attempt->counted) return number;
  // Each answer begins this function again: asks for twice as many numbers each time.
  for (int at_once = 1; number < kMostAttempts; at_once *= 2) {
    std::vector<Question> open;
    std::optional<int> unused;
    for (const int end = number + at_once; number < end; ++number) {
      const FindFiles traces = traces_of(options, number);
      const bool* const found = facts.find(traces);
      if (!found) open.emplace_back(traces);
      if (found && !*found && !unused) unused = number;
    }
    if (!open.empty()) return tl::unexpected(Stop(std::move(open)));
    if (unused) return unused;
  }
  return number;
}

/// The options with the hosts and the places of --rank-table FILE.
Settling<cli::Options> with_rank_table(cli::Options options, SettledJob& job, const Facts& facts) {
  if (!names_rank_table(options)) return options;
  TablePlaces table = TRY(read_rank_table(options, facts));
  options.hosts.list = std::move(table.hosts);
  options.hosts.hostfile.clear();
  options.request.rank_places = std::move(table.places);
  job.remarks = std::move(table.notes);
  return options;
}

}  // namespace

bool starts_ranks(const cli::Options& options) {
  return options.verb == cli::Verb::run && !options.dry_run && !options.show_env;
}

Settling<SettledJob> settle_job(const cli::Options& asked, const place::Place& place, const Facts& facts) {
  SettledJob job;
  cli::Options options = TRY(with_rank_table(asked, job, facts));
  std::ranges::copy(asked.remarks, std::back_inserter(job.remarks));
  if (options.request.job_id.empty()) options.request.job_id = TRY(known(facts, NameJob{}));
  options.github = variable(options.request.environment, "GITHUB_ACTIONS") == "true";
  if (options.output.groups == output::Groups::automatic) {
    options.output.groups = options.github                                                 ? output::Groups::github
                            : variable(options.request.environment, "GITLAB_CI") == "true" ? output::Groups::gitlab
                                                                                           : output::Groups::off;
  }
  options.output.bars = options.status && variable(options.request.environment, "TERM") != "dumb";
  if (options.output.pty && options.stdin_target.kind != plan::StdinTarget::Kind::none) {
    options.keys = TRY(known(facts, FindTerminal{STDIN_FILENO}));
  }
  if (options.verb != cli::Verb::check && !options.stage.empty()) {
    const auto staged = TRY(known(facts, ReadStaged{options.stage}));
    options.staged = TRY(staged);
  }
  if (!options.same_line.asked) {
    if (place.copies && !options.hosts.ignore_resource_manager) return fail(*place.copies);
    job.manager_hosts = TRY(hosts_of_manager(options, place, facts));
    job.way = TRY(choose_way(options, place, facts));
    options.exec = job.way.exec;
    options.exec_is_signalled = job.way.exec_is_signalled;
    options.dial_in = job.way.dial_in;
  }
  options.policy.in_batch_job = place.may_signal;
  options.policy.checkpoint = TRY(settle_checkpoint(options, job.way.by_manager(), place, facts));
  ManagerSettings settings = TRY(settings_of_manager(options, job.way, place, facts));
  options.dial_in = std::move(settings.dial_in);
  if (settings.kill_wait) options.policy.manager_kill_wait = *settings.kill_wait;
  const auto attempt = TRY(settle_attempt(options, place, facts));
  if (attempt) options.request.attempt = attempt;
  if (attempt.value_or(0) > 0) options.output.keep_logs = 0;
  job.options = std::move(options);
  return job;
}

bool only_here(const SettledJob& job, const place::Place& place) { return names_no_host(job.options.hosts, place); }

Settling<plan::Allocation> settle_hosts(const SettledJob& job, const place::Place& place, const Facts& facts) {
  const cli::Options& options = job.options;
  plan::Allocation allocation =
      TRY(choose_hosts(options.hosts, place, {job.manager_hosts, job.way.by_manager()}, facts));
  allocation.notes.insert(allocation.notes.begin(), options.notes.begin(), options.notes.end());
  allocation.remarks = job.remarks;
  add_node_data(job, place, allocation);
  const bool only_planned = options.dry_run || options.show_env;
  if (options.same_line.asked && only_planned) assume_nodes_as_here(allocation);
  if (names_rank_table(options)) {
    for (plan::Host& host : allocation.hosts) host.device_kind = plan::DeviceKind::ascend;
  }
  const bool checks = options.verb == cli::Verb::check;
  const plan::Request request = options.verb == cli::Verb::hosts ? plan::Request{} : options.request;
  if (!checks && plan::needs_slots(request, allocation)) {
    allocation = TRY(with_slots(std::move(allocation), options.hosts, facts));
  }
  if (!checks && needs_devices(job, place, allocation)) {
    allocation = TRY(with_devices(std::move(allocation), job, place, facts));
  }
  auto remark = way_remark(options, job.way, place, allocation);
  if (remark) allocation.remarks.push_back(*std::move(remark));
  return allocation;
}

}  // namespace dlaunch::settle
