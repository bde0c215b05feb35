#include "grammars/personality.h"

#include <algorithm>
#include <utility>

#include "base/environment.h"
#include "grammars/launchers.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

constexpr int kOpenMpiTimeout = 110;  // ETIMEDOUT
constexpr int kHydraTimeout = 255;

ParsedOption given(string_view option, std::string value, std::string from, Source source) {
  return {.spec = find_option(option).spec,
          .value = std::move(value),
          .spelled = from,
          .origin = std::move(from),
          .source = source};
}

bool any_of(const ResolvedOptions& effective, std::initializer_list<string_view> names) {
  return std::ranges::any_of(names, [&](string_view name) { return effective.find(name) != nullptr; });
}

/// Whether an option of the user requests devices.
bool means_devices(const ResolvedOptions& effective) {
  const ParsedOption* bind = effective.find("bind-to");
  return (bind && bind->value == "device") ||
         any_of(effective, {"fake-devices", "devices", "include", "exclude", "visible", "rank-table", "ascend"});
}

}  // namespace

std::vector<ParsedOption> personality_defaults(Grammar grammar) {
  std::vector<ParsedOption> defaults;
  if (const LauncherSpec* launcher = launcher_of(grammar)) return defaults_of(*launcher);
  if (grammar == Grammar::open_mpi) {
    defaults = {given("env-for", "openmpi", "mpirun", Source::personality),
                given("env-all", "true", "mpirun", Source::personality)};
  }
  if (grammar != Grammar::hydra) return defaults;
  const char* const hydra = "mpiexec.hydra";
  defaults = {given("env-for", "mpich", hydra, Source::personality),
              given("env-all", "true", hydra, Source::personality),
              given("oversubscribe", "true", hydra, Source::personality)};
  return defaults;
}

std::vector<ParsedOption> launcher_variables(Grammar grammar, const ProcessContext& context,
                                             std::vector<std::string>& notes) {
  constexpr std::pair<const char*, string_view> kVariables[] = {
      {"MPIEXEC_TIMEOUT", "timeout"},  // of Open MPI's mpiexec too
      {"I_MPI_HYDRA_HOST_FILE", "default-hostfile"},
      {"HYDRA_HOST_FILE", "default-hostfile"},
      {"I_MPI_PERHOST", "N"}};
  std::vector<ParsedOption> options;
  for (const auto& [name, option] : kVariables) {
    const auto value = filled_variable(context.environment, name);
    if (!value || (option != "timeout" && grammar != Grammar::hydra)) continue;
    if (option == "N" && (*value == "all" || *value == "allcores")) {
      notes.push_back(std::string(name) + " changes nothing here: dlaunch supports only a number; use -ppn N");
      continue;
    }
    options.push_back(given(option, *value, name, Source::mca_variable));
  }
  return options;
}

void settle_personality(Grammar grammar, const ResolvedOptions& effective, Options& options) {
  options.policy.highest_exit_code = grammar == Grammar::srun;
  if (grammar == Grammar::dlaunch || launcher_of(grammar)) return;
  hosts::HostRequest& hosts = options.hosts;
  hosts.slots_are_limits = true;
  const bool counts_devices = means_devices(effective);
  if (!counts_devices) hosts.fake_devices = 0;
  if (grammar == Grammar::open_mpi) {
    hosts.count_cores = !counts_devices && !options.request.threads_are_cpus;
    options.request.bind_by_count = !any_of(effective, {"bind-to", "rankfile", "cpu-list"});
    options.policy.timeout_exit_code = kOpenMpiTimeout;
  } else {
    hosts.one_slot_each = !counts_devices;
    options.request.in_rounds = true;
    const ParsedOption* map = effective.find("map-by");
    const bool counts = map && (map->value == "node" || map->value.starts_with("ppr:"));
    if (map && !counts && !any_of(effective, {"bind-to", "cpu-list", "cores-per-rank"})) {
      options.notes.push_back(map->spelled + " " + map->value + " changes nothing without -bind-to");
    }
    options.policy.timeout_exit_code = kHydraTimeout;
  }
}

}  // namespace dlaunch::cli
