#include <algorithm>

#include "base/printable.h"
#include "base/text.h"
#include "dlaunch/plan.h"
#include "plan/table.h"

namespace dlaunch::plan {
namespace {

std::string slots_text(const Host& host) {
  std::string text = host.slots_unknown ? "?" : std::to_string(host.slots);
  if (host.max_slots) text += " (at most " + std::to_string(*host.max_slots) + ")";
  return text;
}

std::string devices_text(const Host& host) {
  if (host.devices.empty()) return "none";
  return std::string(to_string(host.device_kind)) + " " + fold_ints({host.devices.begin(), host.devices.end()}) + " (" +
         escaped(host.devices_from) + ")";
}

/// The user's settings for the connection to the host; the ssh configuration adds the others.
std::string way_text(const Host& host) {
  if (host.local) return "this machine";
  const Reach& reach = host.reach;
  std::string text;
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) text += (text.empty() ? "" : ", ") + name + " " + escaped(value);
  };
  add("user", reach.user);
  add("port", reach.port ? std::to_string(*reach.port) : "");
  add("key", reach.identity);
  add("through", reach.jump);
  add("agent", reach.agent);
  return text.empty() ? "by name" : text;
}

std::string name_text(const Host& host) {
  std::string text = escaped(host.name);
  for (const std::string& other : host.other_names) text += " = " + escaped(other);
  if (host.replacement) text += " (spare)";
  return text;
}

}  // namespace

std::string to_table(const Allocation& allocation) {
  std::vector<std::vector<std::string>> rows = {{"host", "slots", "from", "devices", "reached"}};
  const bool wdirs = std::ranges::any_of(allocation.hosts, [](const Host& host) { return !host.wdir.empty(); });
  if (wdirs) rows.front().emplace_back("directory");
  for (const Host& host : allocation.hosts) {
    rows.push_back({name_text(host), slots_text(host), escaped(host.slots_from), devices_text(host), way_text(host)});
    if (wdirs) rows.back().push_back(host.wdir.empty() ? "-" : escaped(host.wdir));
  }
  std::string text = aligned(rows, "");
  for (const auto* list : {&allocation.notes, &allocation.remarks}) {
    for (const std::string& note : *list) text += "note: " + escaped(note) + "\n";
  }
  return text;
}

}  // namespace dlaunch::plan
