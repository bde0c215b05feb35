#include "settle/way.h"

#include <algorithm>
#include <utility>

#include "base/environment.h"
#include "base/text.h"
#include "base/try.h"
#include "mpirun/mca.h"
#include "place/manager_list.h"

namespace dlaunch::settle {
namespace {

using cli::TransportChoice;

constexpr std::chrono::seconds kAnswerLimit{10};

/// The GPUs that steps must request.
Settling<place::StepGpus> choose_gpus(const place::ManagerJob& job, const std::vector<std::string>& environment,
                                      const Facts& facts) {
  const place::ManagerRow& manager = *job.manager;
  const std::string command = manager.gpus_command ? manager.gpus_command(job.number, environment) : "";
  if (command.empty()) return place::StepGpus{};
  const auto answer = TRY(known(facts, RunCommand{command, kAnswerLimit}));
  return TRY(manager.step_gpus(environment, {answer.text, answer.trouble}));
}

/// The path of a manager's program, or a name for a search in PATH.
std::string path_of(const place::ManagerRow& manager, std::string_view name,
                    const std::vector<std::string>& environment) {
  return manager.program_path ? manager.program_path(name, environment) : std::string(name);
}

/// The way of the first installed program of `way`; nullopt if no program is installed. A link named srun may be
/// dlaunch itself.
Settling<std::optional<WayToHosts>> way_by_command(const cli::Options& options, const place::ManagerJob& job,
                                                   const place::Way& way, const Facts& facts) {
  const place::ManagerRow& manager = *job.manager;
  const auto& environment = options.request.environment;
  for (const std::string_view name : way.programs) {
    const std::string program = TRY(known(facts, FindProgram{path_of(manager, name, environment)}));
    if (program.empty()) continue;
    place::StepGpus gpus = TRY(choose_gpus(job, environment, facts));
    WayToHosts chosen;
    chosen.exec = manager.command ? manager.command(environment, program, gpus) : "";
    chosen.exec_is_signalled = !manager.signal_ends_job;
    chosen.dial_in = manager.dial_in ? manager.dial_in(environment, program, gpus) : std::nullopt;
    if (chosen.dial_in) chosen.dial_in->ports = options.ports;
    chosen.step_gpus = std::move(gpus.of_node);
    chosen.program = name;
    return chosen;
  }
  return std::nullopt;
}

bool names_hosts(const hosts::HostRequest& hosts) { return !hosts.list.empty() || !hosts.hostfile.empty(); }

/// The option that selected the transport; empty: chosen automatically.
std::string transport_option(const cli::Options& options) {
  if (options.transport == TransportChoice::ssh) return "--transport ssh";
  if (options.transport == TransportChoice::exec) return "--transport exec";
  return options.way ? "--transport " + std::string(options.way.way->transport) : "";
}

/// The way that --transport names.
Settling<WayToHosts> named_way(const cli::Options& options, const place::ManagerJob* job, const Facts& facts) {
  const auto [manager, way] = options.way;
  const std::string_view program = way->programs.front();
  const auto refused = [&](std::string why, std::string hint) {
    return fail({transport_option(options), "cannot connect to hosts with " + std::string(program), std::move(why),
                 std::move(hint)});
  };
  if (!job || job->manager != manager) {
    return refused(std::string(manager->outside), std::string(manager->start_in) + ", or remove --transport");
  }
  auto found = TRY(way_by_command(options, *job, *way, facts));
  if (found) return *std::move(found);
  return refused("program \"" + path_of(*manager, program, options.request.environment) + "\": not found",
                 "load the module of " + std::string(manager->name));
}

/// The way in the files of the job; nullopt: the usual transport.
Settling<std::optional<WayToHosts>> way_of_files(const cli::Options& options, const place::ManagerRow& manager,
                                                 const Facts& facts) {
  std::vector<Question> open;
  const auto read = [&](const std::string& path) -> Result<std::string> {
    if (const auto* text = facts.find(ReadFile{path})) return *text;
    open.emplace_back(ReadFile{path});
    return fail(Error{});
  };
  auto command = manager.command_of_files(options.request.environment, read);
  if (!open.empty()) return tl::unexpected(Stop(std::move(open)));
  if (!command) return fail(command.error());
  if (command->empty()) return std::nullopt;
  WayToHosts way;
  way.exec = *std::move(command);
  way.program = manager.ways.front().programs.front();
  return way;
}

/// The way of the batch system around this process; nullopt: the usual transport.
Settling<std::optional<WayToHosts>> way_of_manager(const cli::Options& options, const place::ManagerJob& job,
                                                   const Facts& facts) {
  const place::ManagerRow& manager = *job.manager;
  if (manager.command_of_files) return way_of_files(options, manager, facts);
  for (const place::Way& way : manager.ways) {
    auto found = TRY(way_by_command(options, job, way, facts));
    if (found) return found;
  }
  return std::nullopt;
}

WayToHosts usual_way(const cli::Options& options) {
  WayToHosts way;
  way.exec = options.exec;
  return way;
}

std::string transport_text(const cli::Options& options, const WayToHosts& way, const plan::Allocation& allocation) {
  if (allocation.by_manager) return "by " + way.program;
  if (options.hosts.fake || std::ranges::all_of(allocation.hosts, &plan::Host::local)) return "this machine";
  return way.exec.empty() ? "by ssh" : "by --exec";
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

}  // namespace

Settling<WayToHosts> choose_way(const cli::Options& options, const place::Place& place, const Facts& facts) {
  const place::ManagerJob* const job = place.job();
  if (options.way) return named_way(options, job, facts);
  const bool exec_given =
      !options.exec.empty() && options.exec != cli::rsh_command(options.rsh_agent, options.rsh_args);
  const bool automatic = options.transport == TransportChoice::automatic && !exec_given && !names_hosts(options.hosts);
  if (!job || !automatic || options.hosts.ignore_resource_manager) return usual_way(options);
  auto found = TRY(way_of_manager(options, *job, facts));
  return found ? *std::move(found) : usual_way(options);
}

Settling<std::vector<hosts::HostEntry>> hosts_of_manager(const cli::Options& options, const place::Place& place,
                                                         const Facts& facts) {
  const place::ManagerJob* const job = place.job();
  const bool asks =
      job && job->manager->hosts_in && !options.hosts.ignore_resource_manager && !names_hosts(options.hosts);
  if (!asks) return std::vector<hosts::HostEntry>();
  const place::ManagerRow& manager = *job->manager;
  const std::string name(manager.hosts_program);
  const std::string program = TRY(known(facts, FindProgram{name}));
  if (program.empty()) return place::wrong_list(manager.hosts_variable, "program \"" + name + "\": not found");
  const auto answer =
      TRY(known(facts, RunCommand{shell_quote(program) + std::string(manager.hosts_words), kAnswerLimit}));
  return TRY(manager.hosts_in({answer.text, answer.trouble}));
}

std::optional<std::string> way_remark(const cli::Options& options, const WayToHosts& way, const place::Place& place,
                                      const plan::Allocation& allocation) {
  if (!place.job()) return std::nullopt;
  const std::string text = nodes_text(allocation.hosts) + ", " + transport_text(options, way, allocation) +
                           in_brackets(transport_option(options));
  const std::string job = to_string(*place.job());
  if (allocation.manager) return job + ": " + text;
  return job + " is not used" + in_brackets(hosts_option(options)) + ": " + text;
}

}  // namespace dlaunch::settle
