#include "plan/pools.h"

#include <algorithm>

#include "base/nth.h"
#include "base/printable.h"
#include "base/try.h"
#include "plan/overload.h"
#include "plan/table.h"

namespace dlaunch::plan {
namespace {

Request request_of(const Request& request, int pool) {
  Request own = request;
  std::erase_if(own.apps, [&](const AppRequest& app) { return app.pool != pool; });
  return own;
}

/// Its hosts alone, with the slots that its list gives them.
Allocation allocation_of(const Allocation& allocation, const Pool& pool) {
  Allocation own{.hosts = {}, .slots_are_limits = allocation.slots_are_limits};
  std::vector<int> places(allocation.hosts.size(), -1);
  for (size_t i = 0; i < pool.hosts.size(); ++i) {
    const auto host = static_cast<size_t>(pool.hosts[i]);
    places[host] = static_cast<int>(i);
    own.hosts.push_back(allocation.hosts[host]);
    own.hosts.back().slots = pool.slots[i];
  }
  for (const int host : pool.sequence) own.sequence.push_back(nth(places, host));
  return own;
}

tl::unexpected<Error> refused(const Request& request, int pool, std::string what, std::string hint) {
  const auto app = std::ranges::find(request.apps, pool, &AppRequest::pool);
  return fail({.where = escaped(app->argv.front()), .what = std::move(what), .why = {}, .hint = std::move(hint)});
}

/// Each pool's assignment; none where no program has it.
Result<std::vector<Assignment>> assign_each(const Request& request, const Allocation& allocation) {
  std::vector<Assignment> made(allocation.pools.size());
  for (size_t i = 0; i < made.size(); ++i) {
    const int pool = static_cast<int>(i);
    const Request own = request_of(request, pool);
    if (own.apps.empty()) continue;
    if (allocation.pools[i].hosts.empty()) {
      return refused(request, pool, "no host is left of its list", "name others with its -H");
    }
    auto assigned = TRY(assign(own, allocation_of(allocation, allocation.pools[i])));
    made[i] = std::move(assigned);
  }
  return made;
}

}  // namespace

Result<Assignment> assign_in_pools(const Request& request, const Allocation& allocation) {
  if (!request.rank_places.empty()) {
    return fail({.where = "--rankfile",
                 .what = "does not go with a -H of one program",
                 .why = "each says where ranks go",
                 .hint = "name all hosts before the first program"});
  }
  const auto made = TRY(assign_each(request, allocation));
  Assignment whole{.ranks_of_app = {}, .host_of_rank = {}, .ranks_per_host = {}};
  whole.ranks_per_host.assign(allocation.hosts.size(), 0);
  struct Taken {
    size_t apps = 0;
    size_t ranks = 0;
  };
  std::vector<Taken> taken(made.size());
  for (const AppRequest& app : request.apps) {
    const auto pool = static_cast<size_t>(app.pool);
    const Assignment& own = (made)[pool];
    whole.ranks_of_app.push_back(own.ranks_of_app[taken[pool].apps++]);
    for (int i = 0; i < whole.ranks_of_app.back(); ++i) {
      const auto place = static_cast<size_t>(own.host_of_rank[taken[pool].ranks++]);
      whole.host_of_rank.push_back(allocation.pools[pool].hosts[place]);
      ++nth(whole.ranks_per_host, whole.host_of_rank.back());
    }
  }
  const auto ranks = static_cast<long>(whole.host_of_rank.size());
  if (auto error = refuse_over_max_slots(allocation, whole.ranks_per_host, ranks)) return fail(std::move(*error));
  return whole;
}

}  // namespace dlaunch::plan
