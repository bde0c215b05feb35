#include "app/flux_hosts.h"

#include <algorithm>
#include <map>
#include <set>

#include "allocate/host_name.h"
#include "allocate/manager_list.h"
#include "base/text.h"
#include "base/try.h"
#include "ranktable/json.h"
#include "transport/ask_command.h"

namespace dlaunch::app {
namespace {

using ranktable::Json;

constexpr const char* kResources = "flux kvs get resource.R";
constexpr std::chrono::seconds kFluxLimit{10};
constexpr int kMostIds = 1 << 20;

tl::unexpected<Error> wrong_r(const std::string& why) {
  return allocate::wrong_list(kResources, "invalid resource set R", why);
}

/// "0-2,5", R's format for sets of numbers; a single number may be a JSON number.
Result<std::set<int>> idset(const Json* json, const char* name) {
  if (!json) return std::set<int>();
  const bool written = json->is(Json::Kind::string) || json->is(Json::Kind::number);
  auto ids = written ? parse_int_list(json->text, kMostIds) : std::nullopt;
  if (!ids) return wrong_r(std::string(name) + " is " + ranktable::described(*json));
  return *std::move(ids);
}

Result<std::vector<std::string>> names_in(const Json& nodelist) {
  std::vector<std::string> names;
  for (const Json& item : nodelist.items) {
    for (const std::string& pattern : allocate::split_outside_brackets(item.text, ',')) {
      const auto expanded = TRY(allocate::expand_names(pattern));
      names.insert(names.end(), expanded.begin(), expanded.end());
    }
  }
  return names;
}

const Json* member(const Json* json, std::string_view name) { return json ? json->find(name) : nullptr; }

}  // namespace

Result<std::vector<allocate::HostEntry>> hosts_in_r(std::string_view text) {
  const Json r = TRY(ranktable::parse_json(text, kResources));
  const Json* const execution = r.find("execution");
  const Json* const nodelist = member(execution, "nodelist");
  const Json* const sets = member(execution, "R_lite");
  if (!nodelist || !sets) return wrong_r("missing key execution.R_lite or execution.nodelist");
  const auto names = TRY(names_in(*nodelist));
  std::map<int, allocate::HostEntry> hosts;
  for (const Json& set : sets->items) {
    const auto ranks = TRY(idset(set.find("rank"), "rank"));
    const auto cores = TRY(idset(member(set.find("children"), "core"), "core"));
    const auto gpus = TRY(idset(member(set.find("children"), "gpu"), "gpu"));
    for (const int rank : ranks) {
      if (static_cast<size_t>(rank) >= names.size()) return wrong_r("missing name of rank " + std::to_string(rank));
      allocate::HostEntry& host = hosts[rank];
      host.name = names[static_cast<size_t>(rank)];
      host.from = kResources;
      host.reach.step = std::to_string(rank);
      host.cpus = static_cast<int>(cores.size());
      if (gpus.empty()) host.slots = host.cpus;
      if (!gpus.empty()) host.devices.emplace(gpus.begin(), gpus.end());
    }
  }
  if (hosts.empty()) return wrong_r("missing ranks");
  std::vector<allocate::HostEntry> entries;
  for (auto& [rank, host] : hosts) entries.push_back(std::move(host));
  return entries;
}

Result<std::vector<allocate::HostEntry>> ask_flux(const std::string& flux) {
  const auto answer = transport::ask_command(shell_quote(flux) + " kvs get resource.R", kFluxLimit);
  if (!answer.text.empty()) return hosts_in_r(answer.text);
  return allocate::wrong_list(kResources, "empty output", answer.trouble);
}

}  // namespace dlaunch::app
