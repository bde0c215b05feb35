#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "report/preflight.h"

namespace dlaunch::report {
namespace {

using Json = nlohmann::ordered_json;

Json things_json(const std::vector<CheckedThing>& things) {
  Json list = Json::array();
  for (const CheckedThing& thing : things) {
    Json json = {{"name", thing.name}, {"found", thing.trouble.empty() ? Json(thing.found) : Json(nullptr)}};
    if (!thing.trouble.empty()) json["why_not"] = thing.trouble;
    list.push_back(std::move(json));
  }
  return list;
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json names_json(const CheckedHost& host, const Preflight& preflight) {
  Json json = Json::object();
  for (size_t i = 0; i < host.addresses.size() && i < preflight.hosts.size(); ++i) {
    json[preflight.hosts[i].name] = host.addresses[i].empty() ? Json(nullptr) : Json(host.addresses[i]);
  }
  return json;
}

Json host_json(const CheckedHost& host, const Preflight& preflight) {
  if (!host.lost.empty()) return {{"name", host.name}, {"reached", false}, {"why", host.lost}, {"hint", host.hint}};
  return {{"name", host.name},
          {"reached", true},
          {"kernel_name", host.kernel_name},
          {"agent_version", host.agent_version},
          {"cpus", host.cpus},
          {"cpus_from", host.cpus_from},
          {"device_kind", host.device_kind},
          {"devices", host.devices},
          {"directories", things_json(host.directories)},
          {"programs", things_json(host.programs)},
          {"scripts", things_json(host.scripts)},
          {"clock_offset_s", host.clock_offset},
          {"clock_error_s", host.clock_error},
          {"shm_free_bytes", or_null(host.shm_free)},
          {"open_files", or_null(host.open_files)},
          {"addresses_of", names_json(host, preflight)},
          {"why_not_resolved", host.unresolved}};
}

}  // namespace

std::string to_json(const Preflight& preflight) {
  Json hosts = Json::array();
  for (const CheckedHost& host : preflight.hosts) hosts.push_back(host_json(host, preflight));
  Json found = Json::array();
  for (const Finding& finding : findings(preflight)) {
    found.push_back(
        {{"hosts", finding.hosts}, {"fatal", finding.fatal}, {"what", finding.what}, {"hint", finding.hint}});
  }
  const Json whole = {{"ok", exit_code(preflight) == 0}, {"hosts", std::move(hosts)}, {"findings", std::move(found)}};
  return printable_json(whole.dump(2, ' ', false, Json::error_handler_t::replace)) + '\n';
}

}  // namespace dlaunch::report
