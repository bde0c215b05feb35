#include <algorithm>
#include <iterator>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "dlaunch/plan.h"
#include "plan/binding.h"
#include "plan/environment.h"
#include "plan/table.h"

namespace dlaunch::plan {
namespace {

constexpr size_t kProgramColumns = 60;
constexpr size_t kTextColumns = 100;
constexpr int kSlotColumn = 4;  // after the device

std::string program(const std::vector<std::string>& argv) {
  std::string text;
  for (const std::string& word : argv) {
    if (!text.empty()) text += ' ';
    text += shell_quote(word);
    // enough to fill the columns; limits the work for arguments of many megabytes
    if (text.size() > 8 * kProgramColumns) break;
  }
  return shorten(escaped(text), kProgramColumns);
}

/// The devices in the order of use: as ranges if ascending, else one by one.
std::string device_list(const std::vector<int>& devices) {
  if (std::ranges::is_sorted(devices)) return fold_ints({devices.begin(), devices.end()});
  std::string text;
  for (const int device : devices) text.append(text.empty() ? "" : ",").append(std::to_string(device));
  return text;
}

std::string host_line(const Host& host) {
  std::string text = escaped(host.name) + ": ";
  text += host.slots_unknown ? "unknown slots" : count(static_cast<size_t>(std::max(host.slots, 0)), "slot");
  if (!host.slots_from.empty()) text += " (" + escaped(host.slots_from) + ")";
  if (host.devices.empty()) return text + ", no devices";
  return text + ", " + std::string(to_string(host.device_kind)) + " " +
         (host.devices.size() == 1 ? "device " : "devices ") + device_list(host.devices) + " (" +
         escaped(host.devices_from) + ")";
}

std::string binding_line(const BindingRequest& binding) {
  if (binding.bind_to == BindTo::device) return "to the cores near the device of the rank";
  return "to " + std::string(to_string(binding.bind_to)) + ", mapped by " + std::string(to_string(binding.map_by)) +
         ", ranked by " + std::string(to_string(binding.rank_by)) +
         (binding.cores_per_rank == kEqualShare ? ", an equal share of the cores per rank" : "") +
         (binding.cores_per_rank > 1 ? ", " + std::to_string(binding.cores_per_rank) + " cores per rank" : "");
}

bool one_directory(const Plan& plan) {
  return std::ranges::none_of(plan.apps, &App::rank_dirs) &&
         std::ranges::all_of(plan.apps, [&](const App& app) { return app.wdir == plan.apps.front().wdir; }) &&
         std::ranges::all_of(plan.hosts, [](const PlannedHost& host) { return host.host.wdir.empty(); });
}

std::string header(const Plan& plan) {
  std::vector<std::vector<std::string>> rows = {{"job", escaped(plan.job_id)}};
  rows.push_back({"ranks", std::to_string(plan.ranks.size()) + " on " + count(plan.hosts.size(), "host")});
  for (size_t i = 0; i < plan.hosts.size(); ++i) {
    rows.push_back({i == 0 ? (plan.hosts.size() == 1 ? "host" : "hosts") : "", host_line(plan.hosts[i].host)});
  }
  if (one_directory(plan) && !plan.apps.empty()) rows.push_back({"directory", escaped(plan.apps.front().wdir)});
  if (plan.binding != BindingRequest{.report = plan.binding.report})
    rows.push_back({"binding", binding_line(plan.binding)});
  if (plan.sidecar) {
    const Host& host = plan.host(plan.sidecar->host).host;
    rows.push_back({"sidecar", "a " + plan.sidecar->name + " on " + escaped(host.name)});
  }
  if (plan.rank_table) rows.push_back({"rank table", escaped(plan.rank_table->name)});
  std::string title = "notes";
  for (const auto* list : {&plan.notes, &plan.remarks}) {
    for (const std::string& note : *list) rows.push_back({std::exchange(title, ""), escaped(note)});
  }
  return aligned(rows, "");
}

std::string rank_table(const Plan& plan) {
  const bool directories = !one_directory(plan);
  const bool slots = std::ranges::any_of(plan.ranks, [](const Rank& rank) { return !rank.slots.empty(); });
  std::vector<std::string> programs;
  for (const App& app : plan.apps) programs.push_back(program(app.argv));
  std::vector<std::vector<std::string>> rows = {{"rank", "host", "local rank", "device", "program"}};
  rows.reserve(plan.ranks.size() + 1);
  if (directories) rows.front().emplace_back("directory");
  if (slots) rows.front().insert(rows.front().begin() + kSlotColumn, "slot");
  for (const Rank& rank : plan.ranks) {
    const size_t app = static_cast<size_t>(rank.app);
    rows.push_back({std::to_string(rank.rank), escaped(plan.host_of(rank).host.name), std::to_string(rank.local_rank),
                    rank.device ? std::to_string(*rank.device) : "-", programs[app]});
    if (directories) {
      const std::string& base = program_directory(plan.apps[app], plan.host_of(rank));
      rows.back().push_back(escaped(rank.dir.empty() ? base : rank.dir));
    }
    if (slots) rows.back().insert(rows.back().begin() + kSlotColumn, rank.slots.empty() ? "-" : escaped(rank.slots));
  }
  return aligned(rows, "");
}

std::vector<std::string> names(const std::vector<std::string>& environment) {
  std::vector<std::string> list;
  for (const std::string& entry : environment) list.push_back(escaped(variable_name(entry)));
  return list;
}

std::vector<std::string> sorted(std::vector<std::string> words) {
  std::ranges::sort(words);
  return words;
}

std::string host_variables(const Plan& plan) {
  std::string text;
  for (const PlannedHost& host : plan.hosts) {
    if (host.host.env.empty()) continue;
    text += "variables of ranks on " + escaped(host.host.name) + " (" + escaped(host.host.from) + "):\n" +
            wrapped(names(host.host.env), "  ", kTextColumns);
  }
  return text;
}

std::string variables(const Plan& plan) {
  std::string text;
  std::vector<std::string> last;
  for (const App& app : plan.apps) {
    std::vector<std::string> mine = names(app.env);
    const std::vector<std::string> own = names(plan.rank(app.first_rank).env);
    std::vector<std::string> both = own;
    both.insert(both.end(), mine.begin(), mine.end());
    if (both == last) continue;
    const std::string whose =
        plan.apps.size() == 1 ? "every rank" : "ranks " + std::to_string(app.first_rank) + " and higher";
    text += "\nvariables of " + whose + ", one value per rank:\n" + wrapped(own, "  ", kTextColumns);
    text += "variables of " + whose + ", same value for all ranks:\n" + wrapped(mine, "  ", kTextColumns);
    std::vector<std::string> withheld;
    if (!app.env_elsewhere.empty()) {
      std::ranges::set_difference(sorted(mine), sorted(names(app.env_elsewhere)), std::back_inserter(withheld));
    }
    if (!withheld.empty()) text += "of these, not sent to other hosts:\n" + wrapped(withheld, "  ", kTextColumns);
    last = std::move(both);
  }
  return text;
}

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

std::string to_map(const Plan& plan) { return header(plan) + "\n" + rank_table(plan); }

std::string to_table(const Plan& plan) { return to_map(plan) + variables(plan) + host_variables(plan); }

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
