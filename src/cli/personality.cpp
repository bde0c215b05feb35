#include "cli/personality.h"

#include <algorithm>
#include <array>

#include "cli/preferences.h"

namespace dlaunch::cli {
namespace {

using std::string_view;

constexpr int kOpenMpiTimeout = 110;  // ETIMEDOUT

Given given(string_view option, std::string value, std::string from, Source source) {
  return {.spec = find_option(option).spec,
          .value = std::move(value),
          .spelled = from,
          .origin = std::move(from),
          .source = source};
}

bool any_of(const Effective& effective, std::initializer_list<string_view> names) {
  return std::ranges::any_of(names, [&](string_view name) { return effective.find(name) != nullptr; });
}

}  // namespace

std::optional<Personality> personality_named(string_view value) {
  if (value == "dlaunch") return Personality::dlaunch;
  for (const string_view name : {"ompi", "ompi5", "prrte", "mpirun"}) {
    if (value == name) return Personality::open_mpi;
  }
  return std::nullopt;
}

Personality personality_of(string_view program_name) {
  const string_view base = program_name.substr(program_name.rfind('/') + 1);
  const string_view name = base.substr(0, base.find('.'));
  const bool theirs = name == "mpirun" || name == "mpiexec" || name == "orterun";
  return theirs ? Personality::open_mpi : Personality::dlaunch;
}

Personality personality_of(string_view program_name, std::span<const Given> options) {
  Personality personality = personality_of(program_name);
  for (const Given& option : options) {
    if (option.spec->name() == "personality") personality = personality_named(option.value).value_or(personality);
  }
  return personality;
}

std::vector<Given> personality_defaults(const Surroundings& surroundings) {
  std::vector<Given> defaults = {given("env-for", "openmpi", "mpirun", Source::personality)};
  if (const auto limit = variable(surroundings.environment, "MPIEXEC_TIMEOUT")) {
    defaults.push_back(given("timeout", std::string(*limit), "MPIEXEC_TIMEOUT", Source::convention));
  }
  return defaults;
}

void settle_as_open_mpi(const Effective& effective, Options& options) {
  allocate::HostRequest& hosts = options.hosts;
  hosts.slots_are_limits = true;
  const Given* bind = effective.find("bind-to");
  const bool near_devices = bind && bind->value == "device";
  if (!near_devices &&
      !any_of(effective, {"fake-devices", "devices", "include", "exclude", "visible", "rank-table", "ascend"})) {
    hosts.fake_devices = 0;
    hosts.count_cores = !options.request.threads_are_cpus;
  }
  options.request.bind_by_count = !any_of(effective, {"bind-to", "rankfile", "cpu-list"});
  options.policy.timeout_exit_code = kOpenMpiTimeout;
}

}  // namespace dlaunch::cli
