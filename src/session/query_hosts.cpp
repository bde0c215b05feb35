#include "session/query_hosts.h"

#include "base/index_cast.h"
#include "dlaunch/error.h"
#include "report/log.h"
#include "report/lost_hosts.h"

namespace dlaunch::session {
namespace {

bool same_host(const plan::Host& a, const plan::Host& b) { return a.name == b.name && a.reach == b.reach; }

void fill_in(plan::Allocation& allocation, size_t host, const wire::HostInfo& facts) {
  if (!allocation.hosts[host].slots_unknown) return;
  launcher::fill_slots(allocation.hosts[host], facts);
  for (plan::Pool& pool : allocation.pools) {
    for (size_t i = 0; i < pool.hosts.size(); ++i) {
      const bool unknown = pool.hosts[i] == static_cast<int>(host) && pool.slots[i] == 0;
      if (unknown) pool.slots[i] = allocation.hosts[host].slots;
    }
  }
}

}  // namespace

Error interrupted_error(int signal) {
  return {"", "interrupted by " + signal_name(signal), "no rank was started", "", kSignalBase + signal};
}

std::optional<int> find_slots(HostSession& session, plan::Allocation& allocation, const hosts::HostRequest& asked) {
  const Time start = Clock::now();
  const auto queried = session.query(allocation.hosts, [&](int host) -> std::optional<wire::QueryHost> {
    if (!at_index(allocation.hosts, host).slots_unknown) return std::nullopt;
    wire::QueryHost query;
    query.cores = asked.count_cores;
    query.no_devices = asked.fake_devices == 0;
    return query;
  });
  if (queried.signal != 0) return report::complain(session.log(), interrupted_error(queried.signal));
  std::vector<job::LostHost> lost;
  for (size_t i = 0; i < allocation.hosts.size(); ++i) {
    const launcher::QueriedHost& known = queried.hosts[i];
    if (known.loss) lost.push_back({allocation.hosts[i].name, known.loss->why, known.loss->hint});
    if (known.facts) fill_in(allocation, i, *known.facts);
  }
  if (lost.empty()) return std::nullopt;
  session.log().error(report::lost_hosts_text(lost, false, Clock::now() - start));
  return kExitHostLost;
}

void keep_planned(HostSession& session, const plan::Allocation& opened, const plan::Plan& plan) {
  std::vector<int> places;
  size_t at = 0;  // the plan has the hosts in the same order
  for (const plan::PlannedHost& planned : plan.hosts) {
    while (!same_host(opened.hosts[at], planned.host)) ++at;
    places.push_back(static_cast<int>(at++));
  }
  const size_t spares = plan.replacements.size();  // the last hosts
  for (size_t i = opened.hosts.size() - spares; i < opened.hosts.size(); ++i) places.push_back(static_cast<int>(i));
  session.hosts().keep(places);
}

}  // namespace dlaunch::session
