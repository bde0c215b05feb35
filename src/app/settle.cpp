#include "app/settle.h"

#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "base/environment.h"
#include "base/index_cast.h"
#include "base/text.h"
#include "base/time.h"
#include "base/try.h"
#include "cli/files.h"
#include "grammars/mpirun/mca.h"
#include "job/job.h"
#include "output/file_layout.h"
#include "place/manager_list.h"
#include "place/place.h"
#include "report/log.h"
#include "report/record_file.h"
#include "report/summary.h"
#include "sys/clock.h"
#include "sys/files.h"
#include "sys/installed.h"
#include "transport/command.h"

namespace dlaunch::app {
namespace {

using cli::TransportChoice;

constexpr std::chrono::seconds kAnswerLimit{10};

/// The GPUs that steps must request.
Result<place::StepGpus> choose_gpus(const place::ManagerJob& job, const std::vector<std::string>& environment) {
  const place::ManagerRow& manager = *job.manager;
  const std::string command = manager.gpus_command ? manager.gpus_command(job.number, environment) : "";
  if (command.empty()) return place::StepGpus{};
  const auto answer = transport::ask_command(command, kAnswerLimit);
  return manager.step_gpus(environment, {answer.text, answer.trouble});
}

/// The path of a manager's program, or a name for a search in PATH.
std::string path_of(const place::ManagerRow& manager, std::string_view name,
                    const std::vector<std::string>& environment) {
  return manager.program_path ? manager.program_path(name, environment) : std::string(name);
}

/// Selects the first installed program of `way`; returns false if no program is installed. A link named srun may be
/// dlaunch itself.
Result<bool> use_command(const place::ManagerJob& job, const place::Way& way, cli::Options& options) {
  const place::ManagerRow& manager = *job.manager;
  const auto& environment = options.request.environment;
  for (const std::string_view name : way.programs) {
    const std::string program = sys::other_program(path_of(manager, name, environment), search_path(environment));
    if (program.empty()) continue;
    place::StepGpus gpus = TRY(choose_gpus(job, environment));
    options.exec = manager.command ? manager.command(environment, program, gpus) : "";
    options.exec_is_signalled = !manager.signal_ends_job;
    options.dial_in = manager.dial_in ? manager.dial_in(environment, program, gpus) : std::nullopt;
    if (options.dial_in) options.dial_in->ports = options.ports;
    options.step_gpus = std::move(gpus.of_node);
    options.hosts.by_manager = true;
    options.manager_program = name;
    return true;
  }
  return false;
}

bool names_hosts(const hosts::HostRequest& hosts) { return !hosts.list.empty() || !hosts.hostfile.empty(); }

/// The option that selected the transport; empty: chosen automatically.
std::string transport_option(const cli::Options& options) {
  if (options.transport == TransportChoice::ssh) return "--transport ssh";
  if (options.transport == TransportChoice::exec) return "--transport exec";
  return options.way ? "--transport " + std::string(options.way.way->transport) : "";
}

/// The transport that --transport names.
Result<void> use_named_way(cli::Options& options, const place::ManagerJob* job) {
  const auto [manager, way] = options.way;
  const std::string_view program = way->programs.front();
  const auto refused = [&](std::string why, std::string hint) {
    return fail({transport_option(options), "cannot connect to hosts with " + std::string(program), std::move(why),
                 std::move(hint)});
  };
  if (!job || job->manager != manager) {
    return refused(std::string(manager->outside), std::string(manager->start_in) + ", or remove --transport");
  }
  const bool found = TRY(use_command(*job, *way, options));
  if (found) return {};
  return refused("program \"" + path_of(*manager, program, options.request.environment) + "\": not found",
                 "load the module of " + std::string(manager->name));
}

/// The transport of the batch system around this process.
Result<void> use_manager(cli::Options& options, const place::ManagerJob& job) {
  const place::ManagerRow& manager = *job.manager;
  if (manager.command_of_files) {
    options.exec = TRY(manager.command_of_files(options.request.environment, cli::read_text));
    if (options.exec.empty()) return {};
    options.hosts.by_manager = true;
    options.manager_program = manager.ways.front().programs.front();
    return {};
  }
  for (const place::Way& way : manager.ways) {
    const bool found = TRY(use_command(job, way, options));
    if (found) return {};
  }
  return {};
}

/// Asks the batch system for the hosts of the job, if no variable has them.
Result<void> ask_for_hosts(cli::Options& options, const place::ManagerRow& manager) {
  const std::string name(manager.hosts_program);
  const std::string program = sys::other_program(name, search_path(options.request.environment));
  if (program.empty()) return place::wrong_list(manager.hosts_variable, "program \"" + name + "\": not found");
  const auto answer = transport::ask_command(shell_quote(program) + std::string(manager.hosts_words), kAnswerLimit);
  options.hosts.of_manager = TRY(manager.hosts_in({answer.text, answer.trouble}));
  return {};
}

std::string transport_text(const plan::Allocation& allocation, const cli::Options& options) {
  if (allocation.by_manager) return "by " + options.manager_program;
  if (options.hosts.fake || std::ranges::all_of(allocation.hosts, &plan::Host::local)) return "this machine";
  return options.exec.empty() ? "by ssh" : "by --exec";
}

/// "4 nodes × 8 slots", or "4 nodes" while the slots are unknown.
std::string nodes_text(const std::vector<plan::Host>& hosts) {
  std::string nodes = count(hosts.size(), "node");
  if (std::ranges::any_of(hosts, &plan::Host::slots_unknown)) return nodes;
  int all = 0;
  for (const plan::Host& host : hosts) all += host.slots;
  const bool even = std::ranges::all_of(hosts, [&](const auto& host) { return host.slots == hosts.front().slots; });
  return even ? nodes + " × " + count(static_cast<size_t>(hosts.front().slots), "slot")
              : nodes + " with " + count(static_cast<size_t>(all), "slot") + " in total";
}

/// The option that replaces the batch system's hosts.
std::string hosts_option(const cli::Options& options) {
  if (options.same_line.asked) return "--same-line";
  if (options.hosts.fake) return "--fake-hosts";
  if (!options.hosts.list.empty()) return "-H";
  return options.hosts.hostfile.empty() ? "--ignore-resource-manager" : "--hostfile";
}

std::string in_brackets(const std::string& text) { return text.empty() ? "" : " (" + text + ')'; }

/// Each agent runs in its own step with one node, numbered 0 there.
void number_nodes(plan::Allocation& allocation, std::string_view variable) {
  for (size_t i = 0; i < allocation.hosts.size(); ++i) {
    allocation.hosts[i].env.push_back(std::string(variable) + '=' + std::to_string(i));
  }
}

/// Whether the host's agent runs in the job and its devices are not configured.
bool is_open(const plan::Host& host) { return !host.local && host.devices.empty(); }

bool wants_devices(const plan::Request& request) {
  return request.visible != plan::Visible::unchanged ||
         std::ranges::any_of(request.apps, &plan::AppRequest::for_devices);
}

/// Without a list of the step's GPUs, the machine's GPUs may belong to another job.
bool are_of_job(const place::ManagerRow& manager, const wire::HostInfo& facts) {
  const bool listed = facts.devices_from.find("_VISIBLE_DEVICES") != std::string::npos;
  return !manager.only_listed_devices || listed || launcher::device_kind(facts) == plan::DeviceKind::ascend;
}

void fill_in(plan::Host& host, const wire::HostInfo& facts) {
  host.device_kind = launcher::device_kind(facts);
  host.devices.assign(facts.devices.begin(), facts.devices.end());
  host.devices_from = facts.devices_from + " there";
  if (!host.slots_unknown) host.cpus = std::max(host.cpus, host.slots);
}

constexpr std::chrono::seconds kEndLimit{5};            // of squeue
constexpr std::chrono::seconds kConfigurationLimit{2};  // of scontrol, qstat and qconf
constexpr size_t kLongestFile = 1u << 20;
constexpr int kMostAttempts = 1000000;

bool runs(const cli::Options& options) {
  return options.verb == cli::Verb::run && !options.dry_run && !options.show_env;
}

std::string answer_of(const std::string& command, std::chrono::seconds limit) {
  return transport::ask_command(command, limit).text;
}

/// The end of the job, from its environment or from the batch system.
std::optional<std::int64_t> job_end(const place::OwnEnd& own, const cli::Options& options) {
  if (own.preemption.end) return own.preemption.end;
  const bool asks = runs(options) && options.hosts.by_manager && !options.policy.checkpoint.grace;
  if (!asks || own.preemption.end_command.empty()) return std::nullopt;
  return own.manager->end_in(answer_of(own.preemption.end_command, kEndLimit));
}

/// The time until KILL after the batch system's signal, less the time in which dlaunch stops ranks that did not end.
std::optional<std::chrono::milliseconds> told_grace(const place::OwnEnd& own, const cli::Options& options) {
  const bool asks = runs(options) && !options.policy.checkpoint.grace;
  if (!asks || own.preemption.grace_command.empty()) return std::nullopt;
  const auto grace = own.manager->grace_in(answer_of(own.preemption.grace_command, kConfigurationLimit));
  if (!grace) return std::nullopt;
  const std::chrono::milliseconds all = *grace;
  return std::max(all / 2, all - options.policy.grace - job::kKillWait);
}

bool matches_a_file(const std::string& pattern) {
  glob_t found{};
  const bool matches = ::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0;
  ::globfree(&found);
  return matches;
}

/// Whether an attempt of that number has left files of ranks, or the record of the previous attempt.
bool has_traces(const cli::Options& options, int number) {
  std::error_code ignored;
  const auto& report = options.report_file;
  if (!report.empty() && std::filesystem::exists(report::kept_record(report, number - 1), ignored)) return true;
  if (!options.output.files) return false;
  const auto& files = *options.output.files;
  if (files.by_stream || output::is_template(files.target)) {
    return std::ranges::any_of(output::attempt_patterns(files, number), matches_a_file);
  }
  output::RankFacts facts;
  facts.attempt = number;
  const std::filesystem::path path = output::stacks_base(files, facts);
  return std::filesystem::exists(path.parent_path(), ignored);
}

}  // namespace

Result<void> choose_transport(cli::Options& options, const place::Place& place) {
  if (options.same_line.asked) return {};
  const place::ManagerJob* const job = place.job();
  const bool ignored = options.hosts.ignore_resource_manager;
  if (place.copies && !ignored) return fail(*place.copies);
  const bool asks = job && job->manager->hosts_in && !ignored && !names_hosts(options.hosts);
  if (asks) TRY(ask_for_hosts(options, *job->manager));
  if (options.way) return use_named_way(options, job);
  const bool exec_given =
      !options.exec.empty() && options.exec != cli::rsh_command(options.rsh_agent, options.rsh_args);
  const bool automatic = options.transport == TransportChoice::automatic && !exec_given && !names_hosts(options.hosts);
  return job && automatic && !ignored ? use_manager(options, *job) : Result<void>();
}

void add_manager(const cli::Options& options, const place::Place& place, plan::Allocation& allocation) {
  if (!allocation.by_manager) return;
  const place::ManagerRow& manager = *place.job()->manager;
  const bool sets_number = std::ranges::count(options.request.frameworks, plan::Framework::slurm) > 0;
  if (!manager.node_variable.empty() && !sets_number) number_nodes(allocation, manager.node_variable);
  if (!manager.gpu_words || options.step_gpus.empty()) return;
  for (plan::Host& host : allocation.hosts) {
    const auto found = options.step_gpus.find(host.name);
    if (!host.reach.step.empty()) host.reach.step += ' ';
    host.reach.step +=
        manager.gpu_words(found == options.step_gpus.end() ? std::nullopt : std::optional(found->second));
  }
}

void add_transport_remark(const cli::Options& options, const place::Place& place, plan::Allocation& allocation) {
  if (!place.job()) return;
  const std::string way = nodes_text(allocation.hosts) + ", " + transport_text(allocation, options) +
                          in_brackets(transport_option(options));
  const std::string job = to_string(*place.job());
  allocation.remarks.push_back(
      allocation.manager ? job + ": " + way : job + " is not used" + in_brackets(hosts_option(options)) + ": " + way);
}

bool needs_devices(const cli::Options& options, const place::Place& place, const plan::Allocation& allocation) {
  if (!allocation.by_manager || options.hosts.fake_devices) return false;
  const auto& request = options.request;
  const place::ManagerRow& manager = *place.job()->manager;
  const bool says_devices = manager.says_devices && manager.says_devices(request.environment);
  return (wants_devices(request) || says_devices) && std::ranges::any_of(allocation.hosts, is_open);
}

std::optional<int> find_devices(session::HostSession& session, plan::Allocation& allocation,
                                const cli::Options& options, const place::Place& place) {
  const Time start = Clock::now();
  const auto queried = session.query(allocation.hosts, [&](int host) -> std::optional<wire::QueryHost> {
    return is_open(at_index(allocation.hosts, host)) ? std::optional(wire::QueryHost{}) : std::nullopt;
  });
  if (queried.signal != 0) return report::complain(session.log(), session::interrupted_error(queried.signal));
  std::vector<job::LostHost> lost;
  std::vector<size_t> found;
  bool all = true;
  for (size_t i = 0; i < allocation.hosts.size(); ++i) {
    const launcher::QueriedHost& known = queried.hosts[i];
    if (known.loss) lost.push_back({allocation.hosts[i].name, known.loss->why, known.loss->hint});
    if (!known.facts || !is_open(allocation.hosts[i])) continue;
    const bool has_some = !known.facts->devices.empty() && are_of_job(*place.job()->manager, *known.facts);
    if (has_some) found.push_back(i);
    all = all && (has_some || allocation.hosts[i].slots_unknown);
  }
  if (!lost.empty()) {
    session.log().error(report::lost_hosts_text(lost, false, Clock::now() - start));
    return kExitHostLost;
  }
  if (!all && !wants_devices(options.request)) return std::nullopt;
  for (const size_t i : found) fill_in(allocation.hosts[i], *queried.hosts[i].facts);
  return std::nullopt;
}

void resolve_preemption_deadline(cli::Options& options, const place::Place& place) {
  job::Checkpoint& checkpoint = options.policy.checkpoint;
  if (checkpoint.signal == 0) return;
  checkpoint.at_terminal = ::isatty(STDERR_FILENO) == 1;
  const auto& own = place.end;
  if (!own) return;
  if (own->preemption.grace) checkpoint.usual_grace = *own->preemption.grace;
  if (const auto told = told_grace(*own, options)) checkpoint.usual_grace = *told;
  checkpoint.by_step = own->preemption.signals_steps && options.hosts.by_manager;
  if (const auto end = job_end(*own, options)) {
    const std::chrono::nanoseconds left = std::chrono::seconds(*end) - std::chrono::nanoseconds(sys::wall_ns());
    checkpoint.job_end = Clock::now() + left;
  }
}

void resolve_manager_settings(cli::Options& options, const place::Place& place) {
  const place::ManagerRow* const manager = options.hosts.by_manager ? place.job()->manager : nullptr;
  if (!runs(options) || !manager || !manager->kill_wait) return;
  const place::Setting where = manager->kill_wait(options.request.environment);
  DialIn* const dial_in = options.dial_in ? &*options.dial_in : nullptr;
  std::optional<int> seconds;
  const auto take = [&](std::string_view text) {
    if (text.empty()) return;  // no answer in time
    seconds = manager->kill_wait_in(text);
    if (!dial_in || !dial_in->ports_in || dial_in->ports_command != where.command) return;
    const auto ports = dial_in->ports_in(text);
    if (!ports) return;
    dial_in->ports_in = nullptr;
    if (dial_in->ports == PortRange{}) dial_in->ports = *ports;
  };
  if (const auto text = where.file.empty() ? std::nullopt : sys::read_file(where.file, kLongestFile)) take(*text);
  if (!seconds && !where.command.empty()) take(answer_of(where.command, kConfigurationLimit));
  if (seconds) options.policy.manager_kill_wait = std::chrono::seconds(*seconds);
}

void resolve_attempt(cli::Options& options, const place::Place& place) {
  const auto& attempt = place.attempt;
  if (!attempt) return;
  int number = attempt->number;
  while (!attempt->counted && number < kMostAttempts && has_traces(options, number)) ++number;
  options.request.attempt = number;
  if (number > 0) options.output.keep_logs = 0;
}

}  // namespace dlaunch::app
