#include "app/find_devices.h"

#include <algorithm>

#include "base/index_cast.h"
#include "place/place.h"
#include "report/log.h"
#include "report/lost_hosts.h"

namespace dlaunch::app {
namespace {

/// Whether the host's agent runs in the job and its devices are not configured.
bool is_open(const plan::Host& host) { return !host.local && host.devices.empty(); }

bool wants_devices(const plan::Request& request) {
  return request.visible != plan::Visible::unchanged ||
         std::ranges::any_of(request.apps, &plan::AppRequest::for_devices);
}

/// Without a list of the step's GPUs, the machine's GPUs may belong to another job.
bool are_of_job(const place::ManagerRow& manager, const wire::HostInfo& facts) {
  const bool listed = facts.devices_from.find("_VISIBLE_DEVICES") != std::string::npos;
  return !manager.only_listed_devices || listed || launcher::device_kind(facts) == plan::DeviceKind::ascend;
}

void fill_in(plan::Host& host, const wire::HostInfo& facts) {
  host.device_kind = launcher::device_kind(facts);
  host.devices.assign(facts.devices.begin(), facts.devices.end());
  host.devices_from = facts.devices_from + " there";
  if (!host.slots_unknown) host.cpus = std::max(host.cpus, host.slots);
}

}  // namespace

bool needs_devices(const cli::Options& options, const plan::Allocation& allocation) {
  if (!allocation.by_manager || options.hosts.fake_devices) return false;
  const auto& request = options.request;
  const place::ManagerRow& manager = *options.manager.manager;
  const bool says_devices = manager.says_devices && manager.says_devices(request.environment);
  return (wants_devices(request) || says_devices) && std::ranges::any_of(allocation.hosts, is_open);
}

std::optional<int> find_devices(session::HostSession& session, plan::Allocation& allocation,
                                const cli::Options& options) {
  const Time start = Clock::now();
  const auto queried = session.query(allocation.hosts, [&](int host) -> std::optional<wire::QueryHost> {
    return is_open(at_index(allocation.hosts, host)) ? std::optional(wire::QueryHost{}) : std::nullopt;
  });
  if (queried.signal != 0) return report::complain(session.log(), session::interrupted_error(queried.signal));
  std::vector<job::LostHost> lost;
  std::vector<size_t> found;
  bool all = true;
  for (size_t i = 0; i < allocation.hosts.size(); ++i) {
    const launcher::QueriedHost& known = queried.hosts[i];
    if (known.loss) lost.push_back({allocation.hosts[i].name, known.loss->why, known.loss->hint});
    if (!known.facts || !is_open(allocation.hosts[i])) continue;
    const bool has_some = !known.facts->devices.empty() && are_of_job(*options.manager.manager, *known.facts);
    if (has_some) found.push_back(i);
    all = all && (has_some || allocation.hosts[i].slots_unknown);
  }
  if (!lost.empty()) {
    session.log().error(report::lost_hosts_text(lost, false, Clock::now() - start));
    return kExitHostLost;
  }
  if (!all && !wants_devices(options.request)) return std::nullopt;
  for (const size_t i : found) fill_in(allocation.hosts[i], *queried.hosts[i].facts);
  return std::nullopt;
}

}  // namespace dlaunch::app
