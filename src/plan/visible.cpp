#include "plan/visible.h"

#include <algorithm>
#include <climits>
#include <iterator>
#include <map>
#include <set>
#include <span>

#include "base/environment.h"
#include "base/printable.h"
#include "base/text.h"
#include "place/variables.h"

namespace dlaunch::plan {
namespace {

constexpr std::span<const std::string_view, kVisibleVariables.size()> kAll = kVisibleVariables;

/// The device variables of the drivers of a host.
std::span<const std::string_view> variables_for(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::none:
      return {};
    case DeviceKind::nvidia:
      return kAll.subspan(0, 1);
    case DeviceKind::ascend:
      return kAll.subspan(1, 1);
    case DeviceKind::amd:
      return kAll.subspan(2, 1);
    case DeviceKind::fake:
    case DeviceKind::named:
      return kAll.subspan(0, 3);
  }
  return {};
}

std::string name_of(const Host& host, int device) {
  const auto place = static_cast<size_t>(device);
  return place < host.uuids.size() ? host.uuids[place] : std::to_string(device);
}

/// The devices of a host's ranks, without duplicates, in the order of local ranks.
std::vector<int> devices_of(const Plan& plan, const PlannedHost& planned) {
  const size_t most = std::min(planned.ranks.size(), planned.host.devices.size());  // more ranks share them
  std::vector<int> devices;
  for (size_t i = 0; i < most; ++i) devices.push_back(*plan.rank(planned.ranks[i]).device);
  return devices;
}

std::string list_of(const Host& host, const std::vector<int>& devices) {
  std::string list;
  for (const int device : devices) list.append(list.empty() ? "" : ",").append(name_of(host, device));
  return list;
}

int place_in(const std::vector<int>& devices, int device) {
  const auto at = std::ranges::find(devices, device);
  return at == devices.end() ? device : static_cast<int>(at - devices.begin());
}

void show(Plan& plan, const PlannedHost& planned) {
  const Host& host = planned.host;
  if (host.devices.empty()) return;
  const std::vector<int> mine = devices_of(plan, planned);
  const std::string all = list_of(host, mine);
  for (const int number : planned.ranks) {
    Rank& rank = plan.rank(number);
    if (plan.visible == Visible::unchanged) {
      rank.ordinal = place_in(host.seen, *rank.device);
      continue;
    }
    const bool one = plan.visible == Visible::rank;
    rank.ordinal = one ? 0 : place_in(mine, *rank.device);
    const std::string& value = one ? name_of(host, *rank.device) : all;
    const std::vector<std::string>& chosen = plan.app_of(rank).chosen;
    for (const std::string_view name : variables_for(host.device_kind)) {
      if (std::ranges::find(chosen, name) != chosen.end()) continue;
      rank.env.push_back(std::string(name).append("=").append(value));
    }
  }
}

/// Adds a note about devices of a table or a hostfile that are missing in the launcher's device list.
void note_hidden(Plan& plan, const PlannedHost& planned) {
  const Host& host = planned.host;
  if (plan.visible != Visible::unchanged || host.seen.empty()) return;
  const std::set<int> seen(host.seen.begin(), host.seen.end());
  std::set<int> hidden;
  for (const int device : devices_of(plan, planned)) {
    if (!seen.contains(device)) hidden.insert(device);
  }
  if (hidden.empty()) return;
  plan.notes.push_back(escaped(host.name) + ": ranks have devices " + fold_ints(hidden) +
                       ", but the environment of dlaunch allows only " + fold_ints(seen) +
                       "; unset the variable that lists the visible devices, or set --visible host");
}

std::optional<long> task_number(std::string_view name) {
  if (!name.starts_with(kGpusOfNode)) return std::nullopt;
  return parse_int(name.substr(kGpusOfNode.size()), 0, INT_MAX);
}

}  // namespace

std::optional<Error> refuse_visible(const Plan& plan) {
  if (plan.visible == Visible::unchanged) return std::nullopt;
  const std::string where = plan.visible == Visible::rank ? "--visible rank" : "--visible host";
  for (const PlannedHost& planned : plan.hosts) {
    const Host& host = planned.host;
    if (host.devices.empty()) {
      return Error{.where = where,
                   .what = "unknown devices of " + escaped(host.name),
                   .why = host.local ? "no device found" : "",
                   .hint = "set --devices, or devices= in the hostfile"};
    }
    if (host.device_kind == DeviceKind::amd && !host.uuids.empty()) {
      return Error{.where = where,
                   .what = "unknown numbers of the AMD devices: " + host.devices_from,
                   .why = "",
                   .hint = "use device numbers instead of UUIDs"};
    }
  }
  return std::nullopt;
}

void show_devices(Plan& plan) {
  for (const PlannedHost& planned : plan.hosts) {
    show(plan, planned);
    note_hidden(plan, planned);
  }
}

bool names_task_gpus(std::string_view name) { return task_number(name).has_value(); }

bool has_task_gpus(const std::vector<std::string>& environment) { return task_gpus(environment, 0).has_value(); }

std::optional<std::string> task_gpus(const std::vector<std::string>& node_variables, std::uint32_t task) {
  if (!filled_variable(node_variables, place::kLsfJob)) return std::nullopt;
  std::map<long, std::string_view> lists;
  for (const std::string& entry : node_variables) {
    const std::string_view name = variable_name(entry);
    if (const auto number = task_number(name)) lists.emplace(*number, std::string_view(entry).substr(name.size()));
  }
  if (task >= lists.size()) return std::nullopt;
  return std::string(kGpusOfNode).append(std::next(lists.begin(), task)->second);
}

}  // namespace dlaunch::plan
