#include "cli/meeting.h"

#include "allocate/own_address.h"
#include "plan/frameworks.h"

namespace dlaunch::cli {
namespace {

constexpr int kMostTried = 9000;

Result<std::string> own_address(const plan::Plan& plan) {
  std::string own_name;
  std::vector<std::string> others;
  for (const plan::PlannedHost& planned : plan.hosts) {
    if (planned.host.local) {
      own_name = planned.host.name;
    } else {
      others.push_back(planned.host.name);
    }
  }
  return allocate::address_for_others(own_name, others, allocate::resolve_addresses, allocate::source_towards);
}

tl::unexpected<Error> of_env_for(Error error) {
  error.where = "--env-for";
  return fail(std::move(error));
}

}  // namespace

Result<sys::HeldPorts> arrange_meeting(plan::Plan& plan) {
  if (plan.frameworks.empty()) return sys::HeldPorts{};
  plan::Meeting meeting;
  if (plan::needs_address(plan)) {
    auto address = own_address(plan);
    if (!address) return of_env_for(address.error());
    meeting.here = *std::move(address);
  }
  auto held = sys::HeldPorts::take(
      static_cast<size_t>(plan::ports_needed(plan)), [&](int index) { return plan::unseen_port(plan.job_id, index); },
      kMostTried);
  if (!held) return of_env_for(held.error());
  meeting.ports = held->ports();
  auto complete = plan::with_frameworks(std::move(plan), meeting);
  if (!complete) return fail(complete.error());
  plan = *std::move(complete);
  return held;
}

}  // namespace dlaunch::cli
