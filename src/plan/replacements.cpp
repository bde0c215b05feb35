#include "plan/replacements.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

#include "base/environment.h"
#include "base/index_cast.h"
#include "base/text.h"

namespace dlaunch::plan {
namespace {

constexpr std::string_view kHostVariable = "DLAUNCH_HOST";

/// Removes the entries for hosts that are no longer in the allocation.
void drop_from(std::vector<int>& hosts, size_t count) {
  std::erase_if(hosts, [&](int host) { return static_cast<size_t>(host) >= count; });
}

size_t marked(const Allocation& allocation) {
  return static_cast<size_t>(std::ranges::count(allocation.hosts, true, &Host::replacement));
}

}  // namespace

bool has_replacements(const Request& request, const Allocation& allocation) {
  return request.spares > 0 || marked(allocation) > 0;
}

Result<std::vector<Host>> take_replacements(const Request& request, Allocation& allocation) {
  const auto spares = std::max(static_cast<size_t>(request.spares), marked(allocation));
  const auto refuse = [&](std::string what, std::string why, std::string hint) {
    return fail({request.spares > 0 ? "--spares " + std::to_string(request.spares) : "spare hosts", std::move(what),
                 std::move(why), std::move(hint)});
  };
  if (!allocation.pools.empty())
    return refuse("not supported", "each program has its own hosts", "write the hosts once, for all programs");
  if (allocation.hosts.size() <= spares) {
    return refuse(
        "not enough hosts",
        "the job has " + count(allocation.hosts.size(), "host") + " and needs at least " + std::to_string(spares + 1),
        "add hosts, or set fewer spares");
  }
  const auto first = allocation.hosts.end() - static_cast<std::ptrdiff_t>(spares);
  std::vector<Host> taken(std::make_move_iterator(first), std::make_move_iterator(allocation.hosts.end()));
  allocation.hosts.erase(first, allocation.hosts.end());
  drop_from(allocation.sequence, allocation.hosts.size());
  return taken;
}

std::optional<int> find_replacement(const Plan& plan, int host, const std::vector<bool>& usable) {
  for (size_t i = 0; i < plan.replacements.size(); ++i) {
    if (usable[i] && plan.replacements[i].devices == plan.host(host).host.devices) return static_cast<int>(i);
  }
  return std::nullopt;
}

Plan with_replacement(Plan plan, int host, int replacement, int round) {
  PlannedHost& planned = plan.host(host);
  planned.host = std::move(at_index(plan.replacements, replacement));
  planned.host.replacement = false;
  planned.since_round = round;
  plan.replacements.erase(plan.replacements.begin() + replacement);
  for (const int rank : planned.ranks) {
    for (std::string& entry : plan.rank(rank).env) {
      if (variable_name(entry) == kHostVariable) entry = std::string(kHostVariable) + '=' + planned.host.name;
    }
  }
  return plan;
}

}  // namespace dlaunch::plan
