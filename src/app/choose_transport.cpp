#include "app/choose_transport.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "base/environment.h"
#include "base/text.h"
#include "base/try.h"
#include "cli/files.h"
#include "cli/mpirun/mca.h"
#include "place/flux_hosts.h"
#include "place/job_devices.h"
#include "place/manager_command.h"
#include "place/manager_list.h"
#include "place/mpijob.h"
#include "place/node_place.h"
#include "place/resource_manager.h"
#include "place/slurm.h"
#include "sys/installed.h"
#include "transport/ask_command.h"

namespace dlaunch::app {
namespace {

using cli::TransportChoice;

constexpr std::chrono::seconds kScontrolLimit{10};
constexpr std::chrono::seconds kFluxLimit{10};

/// A transport that --transport can select, with the error texts if it is unavailable.
struct NativeTransport {
  TransportChoice choice;
  plan::Manager::Kind kind;
  const char* option;
  const char* no_job;
  const char* start_in;
  std::span<const std::string_view> programs;  ///< of the batch system; empty: all
};
constexpr std::array<std::string_view, 2> kOfPbs = {"pbs_tmrsh", "pbsdsh"};
constexpr std::array<std::string_view, 1> kOfPals = {"aprun"};
constexpr std::array<NativeTransport, 6> kNativeTransports = {
    {{TransportChoice::slurm,
      plan::Manager::Kind::slurm,
      "--transport slurm",
      "not in a Slurm job",
      "start dlaunch in salloc or sbatch, or remove --transport",
      {}},
     {TransportChoice::sge,
      plan::Manager::Kind::grid_engine,
      "--transport sge",
      "not in a job of a parallel environment of Grid Engine",
      "start dlaunch in a job that qsub -pe started, or remove --transport",
      {}},
     {TransportChoice::lsf,
      plan::Manager::Kind::lsf,
      "--transport lsf",
      "not in an LSF job",
      "start dlaunch in a job that bsub started, or remove --transport",
      {}},
     {TransportChoice::pbs, plan::Manager::Kind::pbs, "--transport pbs", "not in a PBS job",
      "start dlaunch in a job that qsub started, or remove --transport", kOfPbs},
     {TransportChoice::pals, plan::Manager::Kind::pbs, "--transport pals", "not in a PBS job",
      "start dlaunch in a job that qsub started, or remove --transport", kOfPals},
     {TransportChoice::flux,
      plan::Manager::Kind::flux,
      "--transport flux",
      "not in a Flux instance",
      "start dlaunch in flux alloc or flux batch, or remove --transport",
      {}}}};

/// The number of GPUs per node that steps of a Slurm job must request. Empty: not needed, or scontrol does not report
/// GPUs.
Result<std::map<std::string, int>> gpus_to_ask_for(const plan::Manager& slurm, bool may_differ,
                                                   const std::vector<std::string>& environment) {
  const bool one_node = filled_variable(environment, "SLURM_JOB_NUM_NODES") == "1";  // the node is this machine
  if (!may_differ && (one_node || !place::gpus_may_be_unasked(environment))) return std::map<std::string, int>{};
  const auto answer = transport::ask_command("scontrol show job -d " + shell_quote(slurm.job), kScontrolLimit);
  if (!may_differ && place::asks_for_gpus(answer.text)) return std::map<std::string, int>{};
  auto gpus = TRY(place::slurm_gpus(answer.text));
  if (!may_differ || !gpus.empty()) return gpus;
  return fail({"scontrol show job", "does not report the job's GPUs per node", answer.trouble,
               "use --transport ssh to start the agents outside of the job's steps"});
}

/// The GPUs that a step must request; if nodes may differ, options.step_gpus has the number per node.
Result<place::StepGpus> choose_gpus(const plan::Manager& manager, cli::Options& options) {
  if (manager.kind != plan::Manager::Kind::slurm) return place::StepGpus{};
  const auto& environment = options.request.environment;
  const bool may_differ = place::gpus_may_differ(environment);
  auto gpus = TRY(gpus_to_ask_for(manager, may_differ, environment));
  if (gpus.empty()) return place::StepGpus{};
  const int first = gpus.begin()->second;
  const bool on_all = filled_variable(environment, "SLURM_JOB_NUM_NODES") == std::to_string(gpus.size());
  const bool even = on_all && std::ranges::all_of(gpus, [&](const auto& node) { return node.second == first; });
  if (even && !may_differ) return place::StepGpus{.each = first};
  options.step_gpus = std::move(gpus);
  return place::StepGpus{.differ = true};
}

/// Selects the first installed program of `programs`; returns false if all of them are missing. A link named srun may
/// be dlaunch itself.
Result<bool> use_command(const plan::Manager& manager, std::span<const std::string_view> programs,
                         cli::Options& options) {
  const plan::Manager::Kind kind = manager.kind;
  const auto& environment = options.request.environment;
  for (const std::string_view name : programs) {
    const std::string path = place::manager_program_path(name, environment);
    const std::string program = sys::other_program(path, search_path(environment));
    if (program.empty()) continue;
    const place::StepGpus gpus = TRY(choose_gpus(manager, options));
    options.exec = place::manager_command(kind, environment, program, gpus);
    options.exec_is_signalled = !place::signal_ends_job(kind);
    options.dial_in = place::manager_dial_in(kind, environment, program, gpus);
    if (options.dial_in) options.dial_in->ports = options.ports;
    options.hosts.by_manager = true;
    options.manager_program = name;
    return true;
  }
  return false;
}

bool names_hosts(const hosts::HostRequest& hosts) { return !hosts.list.empty() || !hosts.hostfile.empty(); }

Result<void> use_native_transport(const NativeTransport& way, cli::Options& options,
                                  const std::optional<plan::Manager>& manager) {
  const auto programs = way.programs.empty() ? place::manager_programs(way.kind) : way.programs;
  const std::string program(programs.front());
  const auto refused = [&](std::string why, std::string hint) {
    return fail({way.option, "cannot connect to hosts with " + program, std::move(why), std::move(hint)});
  };
  if (!manager || manager->kind != way.kind) return refused(way.no_job, way.start_in);
  const bool found = TRY(use_command(*manager, programs, options));
  if (found) return {};
  return refused("program \"" + place::manager_program_path(program, options.request.environment) + "\": not found",
                 "load the module of " + plan::to_string(plan::Manager{way.kind, ""}));
}

/// Adds -i to the `kubectl exec` command of an MPIJob of version 1. The pods of this version do not run sshd, and the
/// operator's kubexec.sh calls kubectl exec without -i, so stdin is closed. Version 2 uses ssh.
Result<void> use_kubectl(cli::Options& options) {
  const auto job = place::mpi_job(options.request.environment);
  if (!job || job->kubexec.empty()) return {};
  const std::string script = TRY(cli::read_text(job->kubexec));
  std::string command = place::kubectl_command(script);
  if (command.empty()) return fail({job->kubexec, "missing kubectl exec", "", "set the command with --exec"});
  options.exec = std::move(command);
  options.hosts.by_manager = true;
  options.manager_program = place::manager_programs(plan::Manager::Kind::kubernetes).front();
  return {};
}

/// Reads the resources of the Flux instance; no variable has them.
Result<void> read_flux(cli::Options& options) {
  const std::string flux = sys::other_program("flux", search_path(options.request.environment));
  if (flux.empty()) return place::wrong_list("FLUX_URI", "program \"flux\": not found");
  const auto answer = transport::ask_command(shell_quote(flux) + " kvs get resource.R", kFluxLimit);
  if (answer.text.empty()) return place::wrong_list(place::kResources, "empty output", answer.trouble);
  options.hosts.of_manager = TRY(place::hosts_in_r(answer.text));
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

/// The option that selected the transport; empty: chosen automatically.
std::string transport_option(const cli::Options& options) {
  if (options.transport == TransportChoice::ssh) return "--transport ssh";
  if (options.transport == TransportChoice::exec) return "--transport exec";
  const auto* const way = std::ranges::find(kNativeTransports, options.transport, &NativeTransport::choice);
  return way == kNativeTransports.end() ? "" : way->option;
}

/// The option that replaces the batch system's hosts.
std::string hosts_option(const cli::Options& options) {
  if (options.same_line.asked) return "--same-line";
  if (options.hosts.fake) return "--fake-hosts";
  if (!options.hosts.list.empty()) return "-H";
  return options.hosts.hostfile.empty() ? "--ignore-resource-manager" : "--hostfile";
}

std::string in_brackets(const std::string& text) { return text.empty() ? "" : " (" + text + ')'; }

/// Sets the node number: each agent runs in its own step with one node, numbered 0 there.
void number_nodes(plan::Allocation& allocation) {
  for (size_t i = 0; i < allocation.hosts.size(); ++i) {
    allocation.hosts[i].env.push_back("SLURM_NODEID=" + std::to_string(i));
  }
}

}  // namespace

Result<void> choose_transport(cli::Options& options) {
  if (options.same_line.asked) return {};
  const auto& environment = options.request.environment;
  const auto manager = place::manager_of(environment);
  if (manager && !options.hosts.ignore_resource_manager) {
    if (auto copies = place::refuse_copies(*manager, environment)) return fail(*std::move(copies));
  }
  if (!options.hosts.ignore_resource_manager) {
    if (auto copy = place::refuse_copy_on_node(environment)) return fail(*std::move(copy));
  }
  const bool asks_flux = manager && manager->kind == plan::Manager::Kind::flux &&
                         !options.hosts.ignore_resource_manager && !names_hosts(options.hosts);
  if (asks_flux) TRY(read_flux(options));
  const auto* const way = std::ranges::find(kNativeTransports, options.transport, &NativeTransport::choice);
  if (way != kNativeTransports.end()) return use_native_transport(*way, options, manager);
  const bool exec_given =
      !options.exec.empty() && options.exec != cli::rsh_command(options.rsh_agent, options.rsh_args);
  const bool automatic = options.transport == TransportChoice::automatic && !exec_given && !names_hosts(options.hosts);
  if (!manager || !automatic || options.hosts.ignore_resource_manager) return {};
  if (manager->kind == plan::Manager::Kind::kubernetes) return use_kubectl(options);
  const auto used = use_command(*manager, place::manager_programs(manager->kind), options);
  return used ? Result<void>() : fail(used.error());
}

void add_manager(const cli::Options& options, plan::Allocation& allocation) {
  if (!allocation.manager) return;
  const auto& frameworks = options.request.frameworks;
  const bool by_srun = allocation.by_manager && allocation.manager->kind == plan::Manager::Kind::slurm;
  if (by_srun && std::ranges::count(frameworks, plan::Framework::slurm) == 0) number_nodes(allocation);
  if (!by_srun || options.step_gpus.empty()) return;
  for (plan::Host& host : allocation.hosts) {
    const auto found = options.step_gpus.find(host.name);
    if (!host.reach.step.empty()) host.reach.step += ' ';
    host.reach.step += found == options.step_gpus.end() ? "--gres=none" : "--gpus=" + std::to_string(found->second);
  }
}

void add_transport_remark(const cli::Options& options, plan::Allocation& allocation) {
  const auto manager = place::manager_of(options.request.environment);
  if (!manager) return;
  const std::string way = nodes_text(allocation.hosts) + ", " + transport_text(allocation, options) +
                          in_brackets(transport_option(options));
  const std::string job = plan::to_string(*manager);
  allocation.remarks.push_back(
      allocation.manager ? job + ": " + way : job + " is not used" + in_brackets(hosts_option(options)) + ": " + way);
}

}  // namespace dlaunch::app
