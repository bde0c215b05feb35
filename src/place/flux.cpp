// Flux: an instance around this process. Its resource set R (RFC 20) has the hosts. Pure.
#include <map>
#include <set>

#include "base/environment.h"
#include "base/json.h"
#include "base/text.h"
#include "base/try.h"
#include "hosts/host_name.h"
#include "place/manager_list.h"
#include "place/manager_row.h"

namespace dlaunch::place {
namespace {

using json::Json;

constexpr const char* kResources = "flux kvs get resource.R";
constexpr int kMostIds = 1 << 20;

tl::unexpected<Error> wrong_r(const std::string& why) { return wrong_list(kResources, "invalid resource set R", why); }

/// "0-2,5", R's format for sets of numbers; a single number may be a JSON number.
Result<std::set<int>> idset(const Json* json, const char* name) {
  if (!json) return std::set<int>();
  const bool written = json->is(Json::Kind::string) || json->is(Json::Kind::number);
  auto ids = written ? parse_int_list(json->text, kMostIds) : std::nullopt;
  if (!ids) return wrong_r(std::string(name) + " is " + json::described(*json));
  return *std::move(ids);
}

Result<std::vector<std::string>> names_in(const Json& nodelist) {
  std::vector<std::string> names;
  for (const Json& item : nodelist.items) {
    for (const std::string& pattern : hosts::split_outside_brackets(item.text, ',')) {
      const auto expanded = TRY(hosts::expand_names(pattern));
      names.insert(names.end(), expanded.begin(), expanded.end());
    }
  }
  return names;
}

const Json* member(const Json* json, std::string_view name) { return json ? json->find(name) : nullptr; }

/// The tasks of the `flux run` job around this process.
int tasks(const Environment& environment) {
  if (!filled_variable(environment, "FLUX_TASK_RANK")) return 1;
  const std::string size = filled_variable(environment, "FLUX_JOB_SIZE").value_or("");
  return static_cast<int>(parse_int(size, 1, hosts::kMostSlots).value_or(1));
}

/// A single task has this machine's share of the instance.
std::optional<std::string> job(const Environment& environment) {
  if (!filled_variable(environment, "FLUX_URI")) return std::nullopt;
  if (filled_variable(environment, "FLUX_TASK_RANK") && tasks(environment) == 1) return std::nullopt;
  return std::string();
}

/// The hosts of R in the order of their brokers' ranks, each with its rank as Reach::step. If R lists GPUs of a host,
/// the GPUs are its devices and set its slots; else its cores set its slots. PURE.
Result<std::vector<hosts::HostEntry>> hosts_in_r(std::string_view text) {
  const Json r = TRY(json::parse_json(text, kResources));
  const Json* const execution = r.find("execution");
  const Json* const nodelist = member(execution, "nodelist");
  const Json* const sets = member(execution, "R_lite");
  if (!nodelist || !sets) return wrong_r("missing key execution.R_lite or execution.nodelist");
  const auto names = TRY(names_in(*nodelist));
  std::map<int, hosts::HostEntry> hosts;
  for (const Json& set : sets->items) {
    const auto ranks = TRY(idset(set.find("rank"), "rank"));
    const auto cores = TRY(idset(member(set.find("children"), "core"), "core"));
    const auto gpus = TRY(idset(member(set.find("children"), "gpu"), "gpu"));
    for (const int rank : ranks) {
      if (static_cast<size_t>(rank) >= names.size()) return wrong_r("missing name of rank " + std::to_string(rank));
      hosts::HostEntry& host = hosts[rank];
      host.name = names[static_cast<size_t>(rank)];
      host.from = kResources;
      host.reach.step = std::to_string(rank);
      host.cpus = static_cast<int>(cores.size());
      if (gpus.empty()) host.slots = host.cpus;
      if (!gpus.empty()) host.devices.emplace(gpus.begin(), gpus.end());
    }
  }
  if (hosts.empty()) return wrong_r("missing ranks");
  std::vector<hosts::HostEntry> entries;
  for (auto& [rank, host] : hosts) entries.push_back(std::move(host));
  return entries;
}

Result<Entries> hosts_in(const ManagerAnswer& answer) {
  if (answer.text.empty()) return wrong_list(kResources, "empty output", std::string(answer.trouble));
  return hosts_in_r(answer.text);
}

Copies copies(const Environment& environment) { return {tasks(environment), "flux run"}; }

/// `flux run` waits for cores without other jobs of the instance; `flux exec` bypasses the scheduler and forwards whole
/// lines.
std::optional<DialIn> dial_in(const Environment&, const std::string& program, const StepGpus&) {
  return DialIn{.command = shell_quote(program) + " exec -r {steps} -d /", .own_name = "$(uname -n)"};
}

constexpr std::array<std::string_view, 1> kPrograms = {"flux"};
constexpr std::array<Way, 1> kWays = {{{"flux", kPrograms}}};

}  // namespace

constinit const ManagerRow kFlux = {.name = "Flux",
                                    .job = job,
                                    .hosts_variable = "FLUX_URI",
                                    .hosts_program = "flux",
                                    .hosts_words = " kvs get resource.R",
                                    .hosts_in = hosts_in,
                                    .copies = copies,
                                    .ways = kWays,
                                    .outside = "not in a Flux instance",
                                    .start_in = "start dlaunch in flux alloc or flux batch",
                                    .dial_in = dial_in};

}  // namespace dlaunch::place
