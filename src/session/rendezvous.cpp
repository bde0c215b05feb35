#include "session/rendezvous.h"

#include "base/try.h"
#include "net/this_machine.h"
#include "plan/frameworks.h"

namespace dlaunch::session {
namespace {

constexpr int kMostTried = 9000;

constexpr size_t kMostAsked = 16;  // maximum number of other hosts to query

Result<std::string> own_address(const plan::Plan& plan, net::NameResolver& names) {
  std::string own_name;
  std::vector<std::string> others;
  for (const plan::PlannedHost& planned : plan.hosts) {
    if (planned.host.local) {
      if (!planned.host.reach.address.empty()) return planned.host.reach.address;
      own_name = planned.host.name;
    } else if (others.size() < kMostAsked) {
      others.push_back(plan::known_by(planned.host));
    }
  }
  names.ask(own_name);
  for (const std::string& other : others) names.ask(other);
  auto found = net::address_for_others(
      own_name, others, [&](const std::string& name) { return names.addresses(name); }, net::source_towards);
  if (found || names.trouble().empty()) return found;
  found.error().why = names.trouble();
  found.error().hint = "write this machine's address in -H or the hostfile, or add these names to /etc/hosts";
  return found;
}

tl::unexpected<Error> of_env_for(Error error) {
  error.where = "--env-for";
  return fail(std::move(error));
}

}  // namespace

Result<PlannedJob> with_rendezvous(plan::Plan plan, const net::NameResolver::Wait& wait) {
  if (plan.frameworks.empty()) return PlannedJob{std::move(plan), {}};
  plan::Rendezvous rendezvous;
  if (plan::needs_address(plan)) {
    net::NameResolver names(wait);
    auto address = own_address(plan, names);
    if (!address) return of_env_for(address.error());
    rendezvous.here = *std::move(address);
  }
  auto held = sys::ReservedPorts::take(
      static_cast<size_t>(plan::ports_needed(plan)),
      [&](int index) { return plan::unseen_port(plan.job_id, index, plan.round); }, kMostTried);
  if (!held) return of_env_for(held.error());
  rendezvous.ports = held->ports();
  plan::Plan complete = TRY(plan::with_frameworks(std::move(plan), rendezvous));
  return PlannedJob{std::move(complete), *std::move(held)};
}

}  // namespace dlaunch::session
