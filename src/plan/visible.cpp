#include "plan/visible.h"

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/printable.h"
#include "base/text.h"
#include "plan/table.h"

namespace dlaunch::plan {
namespace {

constexpr std::span<const std::string_view, kVisibleVariables.size()> kAll = kVisibleVariables;

/// The variables that the drivers of a host's devices read.
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

/// The devices of a host's ranks, without repetition, in the order of local ranks.
std::vector<int> devices_of(const Plan& plan, const PlannedHost& planned) {
  const size_t most = std::min(planned.ranks.size(), planned.host.devices.size());  // further ranks share them
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

/// Notes devices of a table or a hostfile that the launcher's own list does not leave.
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
                       ", and the list of visible devices in dlaunch's environment leaves " + fold_ints(seen) +
                       "; unset it, or say --visible host");
}

}  // namespace

std::optional<Error> refuse_visible(const Plan& plan) {
  if (plan.visible == Visible::unchanged) return std::nullopt;
  const std::string where = plan.visible == Visible::rank ? "--visible rank" : "--visible host";
  for (const PlannedHost& planned : plan.hosts) {
    const Host& host = planned.host;
    if (host.devices.empty()) {
      return Error{.where = where,
                   .what = "the devices of " + escaped(host.name) + " are not known",
                   .why = host.local ? "none was found" : "",
                   .hint = "name them with --devices, or with devices= in the hostfile"};
    }
    if (host.device_kind == DeviceKind::amd && !host.uuids.empty()) {
      return Error{.where = where,
                   .what = "AMD devices that " + host.devices_from + " are not known by number",
                   .why = "",
                   .hint = "name them by number there"};
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

}  // namespace dlaunch::plan
