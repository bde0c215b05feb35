#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "dlaunch/plan.h"
#include "plan/binding.h"
#include "plan/environment.h"

namespace dlaunch::plan {
namespace {

using Json = nlohmann::ordered_json;

Json names(const std::vector<std::string>& environment) {
  Json list = Json::array();
  for (const std::string& entry : environment) list.push_back(variable_name(entry));
  return list;
}

Json app_json(const Plan& plan, const App& app) {
  const Rank& first = plan.rank(app.first_rank);
  Json json = {{"argv", app.argv},
               {"wdir", app.wdir},
               {"first_rank", app.first_rank},
               {"ranks", app.ranks},
               {"variables", names(app.env)},
               {"rank_variables", names(first.env)}};
  if (!app.env_elsewhere.empty()) json["variables_elsewhere"] = names(app.env_elsewhere);
  return json;
}

/// Adds the values of a host that the user described.
void add_given(Json& json, const Host& host) {
  const auto add = [&](const char* name, const std::string& text) {
    if (!text.empty()) json[name] = text;
  };
  if (!host.other_names.empty()) json["other_names"] = host.other_names;
  add("from", host.from);
  if (host.max_slots) json["max_slots"] = *host.max_slots;
  add("user", host.reach.user);
  if (host.reach.port) json["port"] = *host.reach.port;
  add("identity", host.reach.identity);
  add("jump", host.reach.jump);
  add("agent", host.reach.agent);
  add("wdir", host.wdir);
  if (host.replacement) json["spare"] = true;
  if (!host.env.empty()) json["variables"] = names(host.env);
}

Json host_json(const Host& host, const std::vector<int>* ranks) {
  Json json = {{"name", host.name},
               {"local", host.local},
               {"slots", host.slots_unknown ? Json(nullptr) : Json(host.slots)},
               {"slots_from", host.slots_from},
               {"device_kind", to_string(host.device_kind)},
               {"devices", host.devices},
               {"devices_from", host.devices_from}};
  if (ranks) json["ranks"] = *ranks;
  add_given(json, host);
  return json;
}

/// The first world is omitted.
Json rank_json(const Plan& plan, size_t id) {
  const Rank& rank = plan.ranks[id];
  const int world = plan.worlds.place(static_cast<int>(id)).world;
  Json json = Json::object();
  if (world > 1) json["world"] = world;
  json["rank"] = rank.rank;
  json["app"] = rank.app;
  json["host"] = rank.host;
  json["local_rank"] = rank.local_rank;
  json["device"] = rank.device ? Json(*rank.device) : Json(nullptr);
  if (!rank.slots.empty()) json["slot"] = rank.slots;
  if (!rank.dir.empty()) json["directory"] = rank.dir;
  return json;
}

std::vector<std::string> both(std::vector<std::string> notes, const std::vector<std::string>& remarks) {
  notes.insert(notes.end(), remarks.begin(), remarks.end());
  return notes;
}

}  // namespace

std::string to_json(const Plan& plan) {
  Json apps = Json::array();
  for (const App& app : plan.apps) apps.push_back(app_json(plan, app));
  Json hosts = Json::array();
  for (const PlannedHost& host : plan.hosts) hosts.push_back(host_json(host.host, &host.ranks));
  Json ranks = Json::array();
  for (size_t id = 0; id < plan.ranks.size(); ++id) ranks.push_back(rank_json(plan, id));
  Json sidecar;
  if (plan.sidecar) {
    sidecar = {{"name", plan.sidecar->name}, {"host", plan.sidecar->host}, {"variables", names(plan.sidecar->env)}};
  }
  Json binding = {{"bind_to", to_string(plan.binding.bind_to)},
                  {"map_by", to_string(plan.binding.map_by)},
                  {"rank_by", to_string(plan.binding.rank_by)}};
  if (plan.binding.cores_per_rank > 1) binding["cores_per_rank"] = plan.binding.cores_per_rank;
  if (plan.binding.cores_per_rank == kEqualShare) binding["cores_per_rank"] = "share";
  Json whole = {{"job_id", plan.job_id},         {"size", plan.worlds.size(1, static_cast<int>(plan.ranks.size()))},
                {"apps", std::move(apps)},       {"hosts", std::move(hosts)},
                {"binding", std::move(binding)}, {"notes", both(plan.notes, plan.remarks)},
                {"ranks", std::move(ranks)}};
  if (plan.sidecar) whole["sidecar"] = std::move(sidecar);
  if (plan.rank_table) whole["rank_table"] = plan.rank_table->name;
  return printable_json(whole.dump(2, ' ', false, Json::error_handler_t::replace)) + '\n';
}

std::string to_json(const Allocation& allocation) {
  Json hosts = Json::array();
  for (const Host& host : allocation.hosts) hosts.push_back(host_json(host, nullptr));
  const Json whole = {{"hosts", std::move(hosts)}, {"notes", both(allocation.notes, allocation.remarks)}};
  return printable_json(whole.dump(2, ' ', false, Json::error_handler_t::replace)) + '\n';
}

std::string rank_environment_json(const Plan& plan, const Rank& rank) {
  Json variables = Json::object();
  for (const std::string& entry : rank_environment(plan, rank)) {
    const std::string name(variable_name(entry));
    variables[name] = entry.substr(std::min(name.size() + 1, entry.size()));
  }
  return printable_json(variables.dump(2, ' ', false, Json::error_handler_t::replace)) + '\n';
}

}  // namespace dlaunch::plan
