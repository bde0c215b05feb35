#include "app/choose_transport.h"

#include <algorithm>
#include <utility>

#include "base/environment.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/files.h"
#include "grammars/mpirun/mca.h"
#include "place/manager_list.h"
#include "place/place.h"
#include "sys/installed.h"
#include "transport/ask_command.h"

namespace dlaunch::app {
namespace {

using cli::TransportChoice;

constexpr std::chrono::seconds kAnswerLimit{10};

/// The GPUs that steps must request.
Result<place::StepGpus> choose_gpus(const place::Found& found, const std::vector<std::string>& environment) {
  const place::ManagerRow& manager = *found.manager;
  const std::string command = manager.gpus_command ? manager.gpus_command(found.job, environment) : "";
  if (command.empty()) return place::StepGpus{};
  const auto answer = transport::ask_command(command, kAnswerLimit);
  return manager.step_gpus(environment, {answer.text, answer.trouble});
}

/// The path of a manager's program, or a name for a search in PATH.
std::string path_of(const place::ManagerRow& manager, std::string_view name,
                    const std::vector<std::string>& environment) {
  return manager.program_path ? manager.program_path(name, environment) : std::string(name);
}

/// Selects the first installed program of `way`; returns false if all of them are missing. A link named srun may be
/// dlaunch itself.
Result<bool> use_command(const place::Found& found, const place::Way& way, cli::Options& options) {
  const place::ManagerRow& manager = *found.manager;
  const auto& environment = options.request.environment;
  for (const std::string_view name : way.programs) {
    const std::string program = sys::other_program(path_of(manager, name, environment), search_path(environment));
    if (program.empty()) continue;
    place::StepGpus gpus = TRY(choose_gpus(found, environment));
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
Result<void> use_named_way(cli::Options& options) {
  const auto [manager, way] = options.way;
  const std::string_view program = way->programs.front();
  const auto refused = [&](std::string why, std::string hint) {
    return fail({transport_option(options), "cannot connect to hosts with " + std::string(program), std::move(why),
                 std::move(hint)});
  };
  if (options.manager.manager != manager) {
    return refused(std::string(manager->outside), std::string(manager->start_in) + ", or remove --transport");
  }
  const bool found = TRY(use_command(options.manager, *way, options));
  if (found) return {};
  return refused("program \"" + path_of(*manager, program, options.request.environment) + "\": not found",
                 "load the module of " + std::string(manager->name));
}

/// The transport of the batch system around this process.
Result<void> use_manager(cli::Options& options) {
  const place::ManagerRow& manager = *options.manager.manager;
  if (manager.command_of_files) {
    options.exec = TRY(manager.command_of_files(options.request.environment, cli::read_text));
    if (options.exec.empty()) return {};
    options.hosts.by_manager = true;
    options.manager_program = manager.ways.front().programs.front();
    return {};
  }
  for (const place::Way& way : manager.ways) {
    const bool found = TRY(use_command(options.manager, way, options));
    if (found) return {};
  }
  return {};
}

/// Asks the batch system for the hosts of the job, if no variable has them.
Result<void> ask_for_hosts(cli::Options& options) {
  const place::ManagerRow& manager = *options.manager.manager;
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

/// "4 nodes × 8"; without slots while they are unknown.
std::string nodes_text(const std::vector<plan::Host>& hosts) {
  std::string nodes = count(hosts.size(), "node");
  if (std::ranges::any_of(hosts, &plan::Host::slots_unknown)) return nodes;
  int all = 0;
  for (const plan::Host& host : hosts) all += host.slots;
  const bool even = std::ranges::all_of(hosts, [&](const auto& host) { return host.slots == hosts.front().slots; });
  return even ? nodes + " × " + std::to_string(hosts.front().slots)
              : nodes + " of " + count(static_cast<size_t>(all), "slot");
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

}  // namespace

Result<void> choose_transport(cli::Options& options) {
  if (options.same_line.asked) return {};
  const auto& environment = options.request.environment;
  const place::ManagerRow* const manager = options.manager.manager;
  const bool ignored = options.hosts.ignore_resource_manager;
  if (!ignored) {
    if (auto copies = place::refuse_copies(options.manager, environment)) return fail(*std::move(copies));
    if (auto copy = place::refuse_copy_on_node(environment)) return fail(*std::move(copy));
  }
  const bool asks = manager && manager->hosts_in && !ignored && !names_hosts(options.hosts);
  if (asks) TRY(ask_for_hosts(options));
  if (options.way) return use_named_way(options);
  const bool exec_given =
      !options.exec.empty() && options.exec != cli::rsh_command(options.rsh_agent, options.rsh_args);
  const bool automatic = options.transport == TransportChoice::automatic && !exec_given && !names_hosts(options.hosts);
  return manager && automatic && !ignored ? use_manager(options) : Result<void>();
}

void add_manager(const cli::Options& options, plan::Allocation& allocation) {
  if (!allocation.by_manager) return;
  const place::ManagerRow& manager = *options.manager.manager;
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

void add_transport_remark(const cli::Options& options, plan::Allocation& allocation) {
  if (!options.manager) return;
  const std::string way = nodes_text(allocation.hosts) + ", " + transport_text(allocation, options) +
                          in_brackets(transport_option(options));
  const std::string job = place::to_string(options.manager);
  allocation.remarks.push_back(
      allocation.manager ? job + ": " + way : job + " is not used" + in_brackets(hosts_option(options)) + ": " + way);
}

}  // namespace dlaunch::app
