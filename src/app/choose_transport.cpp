#include "app/choose_transport.h"

#include <algorithm>

#include "allocate/resource_manager.h"
#include "base/environment.h"
#include "base/text.h"
#include "sys/installed.h"
#include "transport/manager_command.h"

namespace dlaunch::app {
namespace {

using cli::TransportChoice;

bool has_command(const plan::Manager& manager, const cli::Options& options) {
  const std::string program(transport::manager_program(manager.kind));
  return !program.empty() && sys::is_in_path(program, search_path(options.request.environment));
}

void use_command(const plan::Manager& manager, cli::Options& options) {
  options.exec = transport::manager_command(manager.kind, options.request.environment);
  options.hosts.by_manager = true;
}

bool names_hosts(const allocate::HostRequest& hosts) { return !hosts.list.empty() || !hosts.hostfile.empty(); }

Result<void> use_slurm(cli::Options& options, const std::optional<plan::Manager>& manager) {
  const auto refused = [](std::string why, std::string hint) {
    return fail({"--transport slurm", "hosts cannot be reached by srun", std::move(why), std::move(hint)});
  };
  if (!manager || manager->kind != plan::Manager::Kind::slurm) {
    return refused("this is no Slurm job", "start it in salloc or sbatch, or leave --transport out");
  }
  if (!has_command(*manager, options)) return refused("there is no srun in PATH", "load Slurm's module");
  use_command(*manager, options);
  return {};
}

std::string way_to(const plan::Allocation& allocation, const cli::Options& options) {
  if (allocation.by_manager) return "by " + std::string(transport::manager_program(allocation.manager->kind));
  if (std::ranges::all_of(allocation.hosts, &plan::Host::local)) return "this machine";
  return options.exec.empty() ? "by ssh" : "by --exec";
}

/// An agent's own step has one node, which is its first.
void number_nodes(plan::Allocation& allocation) {
  for (size_t i = 0; i < allocation.hosts.size(); ++i) {
    allocation.hosts[i].env.push_back("SLURM_NODEID=" + std::to_string(i));
  }
}

}  // namespace

Result<void> choose_transport(cli::Options& options) {
  const auto& environment = options.request.environment;
  const auto manager = allocate::manager_of(environment);
  if (manager && !options.hosts.ignore_resource_manager) {
    if (auto copies = allocate::refuse_copies(*manager, environment)) return fail(*std::move(copies));
  }
  if (options.transport == TransportChoice::slurm) return use_slurm(options, manager);
  const bool automatic =
      options.transport == TransportChoice::automatic && options.exec.empty() && !names_hosts(options.hosts);
  if (!manager || !automatic || options.hosts.ignore_resource_manager) return {};
  if (has_command(*manager, options) && transport::command_gives_all(manager->kind, environment)) {
    use_command(*manager, options);
  }
  return {};
}

void add_manager(const cli::Options& options, plan::Allocation& allocation) {
  if (!allocation.manager) return;
  allocation.remarks.push_back(plan::to_string(*allocation.manager) + ": " + count(allocation.hosts.size(), "host") +
                               ", " + way_to(allocation, options));
  const auto& frameworks = options.request.frameworks;
  if (allocation.by_manager && std::ranges::count(frameworks, plan::Framework::slurm) == 0) number_nodes(allocation);
}

}  // namespace dlaunch::app
