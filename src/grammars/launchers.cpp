#include "grammars/launchers.h"

#include <algorithm>
#include <utility>

#include "base/environment.h"
#include "grammars/accelerate/accelerate.h"
#include "grammars/horovodrun/horovodrun.h"
#include "grammars/srun/srun.h"

namespace dlaunch::cli {
namespace {

constexpr Grammar kWithTable[] = {Grammar::torchrun,  Grammar::torch_launch, Grammar::srun, Grammar::accelerate,
                                  Grammar::deepspeed, Grammar::horovodrun,   Grammar::msrun};

/// The row of `name`, typed with one dash or two. '_' matches '-'.
const LauncherOption* row_of(const LauncherSpec& launcher, std::string_view name) {
  const std::string dashes = dashes_for_underscores(name);
  const auto found = std::ranges::find_if(launcher.options, [&](const LauncherOption& option) {
    return find_name(option.row, dashes).spec || find_name(option.row, '-' + dashes).spec;
  });
  return found == launcher.options.end() ? nullptr : &*found;
}

}  // namespace

const LauncherSpec* launcher_of(Grammar grammar) {
  switch (grammar) {
    case Grammar::torchrun:
      return &torchrun_launcher();
    case Grammar::torch_launch:
      return &torch_launch_launcher();
    case Grammar::msrun:
      return &msrun_launcher();
    case Grammar::deepspeed:
      return &deepspeed_launcher();
    case Grammar::horovodrun:
      return &horovodrun_launcher();
    case Grammar::srun:
      return &srun_launcher();
    case Grammar::accelerate:
      return &accelerate_launcher();
    case Grammar::accelerate_launch:
      return &accelerate_launch_launcher();
    case Grammar::dlaunch:
    case Grammar::open_mpi:
    case Grammar::hydra:
      break;
  }
  return nullptr;
}

std::optional<Error> option_of_launchers(const std::string& spelled, std::string_view name) {
  const LauncherOption* best = nullptr;  // with the most support
  const LauncherOption* last = nullptr;
  std::string lines;
  for (const Grammar grammar : kWithTable) {
    const LauncherSpec& launcher = *launcher_of(grammar);
    const LauncherOption* const option = row_of(launcher, name);
    if (!option || option == last) continue;  // torch.distributed.launch has the rows of torchrun
    last = option;
    if (!best || option->support < best->support) best = option;
    if (option->support == Support::refused) continue;
    lines += (lines.empty() ? "run dlaunch --as " : " or dlaunch --as ") + std::string(launcher.name) + " …";
  }
  if (!best) return std::nullopt;
  if (best->support == Support::translated)
    return Error{.where = "", .what = "unknown option \"" + spelled + '"', .why = "", .hint = std::move(lines)};
  const std::string remove = best->support == Support::refused ? "" : "remove the option";
  return Error{spelled, "not supported", std::string(best->row.help),
               best->support == Support::ignored ? remove + ", or " + lines : remove};
}

std::vector<ParsedOption> defaults_of(const LauncherSpec& launcher) {
  std::vector<ParsedOption> defaults;
  const std::string name(launcher.name);
  for (const auto& [option, value] : launcher.defaults) {
    defaults.push_back({.spec = find_option(option).spec,
                        .value = std::string(value),
                        .spelled = name,
                        .origin = name,
                        .source = Source::personality});
  }
  return defaults;
}

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
