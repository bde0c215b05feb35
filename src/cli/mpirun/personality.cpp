#include "cli/mpirun/personality.h"

#include <algorithm>
#include <array>

#include "cli/preferences.h"

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

/// Whether it is said that ranks are for devices.
bool means_devices(const ResolvedOptions& effective) {
  const ParsedOption* bind = effective.find("bind-to");
  return (bind && bind->value == "device") ||
         any_of(effective, {"fake-devices", "devices", "include", "exclude", "visible", "rank-table", "ascend"});
}

}  // namespace

std::optional<Personality> personality_named(string_view value) {
  if (value == "dlaunch") return Personality::dlaunch;
  for (const string_view name : {"ompi", "ompi5", "prrte", "mpirun"}) {
    if (value == name) return Personality::open_mpi;
  }
  for (const string_view name : {"hydra", "mpich"}) {
    if (value == name) return Personality::hydra;
  }
  return std::nullopt;
}

Personality personality_of(string_view program_name) {
  const string_view base = program_name.substr(program_name.rfind('/') + 1);
  const size_t dot = std::min(base.find('.'), base.size());
  const string_view name = base.substr(0, dot);
  const string_view of = base.substr(dot);
  if (name != "mpirun" && name != "mpiexec" && name != "orterun") return Personality::dlaunch;
  return of == ".hydra" || of == ".mpich" ? Personality::hydra : Personality::open_mpi;
}

Personality personality_of(string_view program_name, std::span<const ParsedOption> options) {
  Personality personality = personality_of(program_name);
  for (const ParsedOption& option : options) {
    if (option.spec->name() == "personality") personality = personality_named(option.value).value_or(personality);
  }
  return personality;
}

std::vector<ParsedOption> personality_defaults(Personality personality, const ProcessContext& surroundings) {
  std::vector<ParsedOption> defaults;
  if (personality == Personality::open_mpi) defaults = {given("env-for", "openmpi", "mpirun", Source::personality)};
  if (personality != Personality::hydra) return defaults;
  const char* const hydra = "mpiexec.hydra";
  defaults = {given("env-for", "mpich", hydra, Source::personality),
              given("oversubscribe", "true", hydra, Source::personality)};
  if (const auto file = variable(surroundings.environment, "HYDRA_HOST_FILE")) {
    defaults.push_back(given("default-hostfile", std::string(*file), "HYDRA_HOST_FILE", Source::convention));
  }
  return defaults;
}

void settle_personality(Personality personality, const ResolvedOptions& effective, Options& options) {
  if (personality == Personality::dlaunch) return;
  allocate::HostRequest& hosts = options.hosts;
  hosts.slots_are_limits = true;
  const bool counts_devices = means_devices(effective);
  if (!counts_devices) hosts.fake_devices = 0;
  if (personality == Personality::open_mpi) {
    hosts.count_cores = !counts_devices && !options.request.threads_are_cpus;
    options.request.bind_by_count = !any_of(effective, {"bind-to", "rankfile", "cpu-list"});
    options.policy.timeout_exit_code = kOpenMpiTimeout;
  } else {
    hosts.one_slot_each = !counts_devices;
    options.request.in_rounds = true;
    options.policy.timeout_exit_code = kHydraTimeout;
  }
}

}  // namespace dlaunch::cli
