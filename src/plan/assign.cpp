#include "plan/assign.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "base/index_cast.h"
#include "base/printable.h"
#include "base/text.h"
#include "base/try.h"
#include "plan/overload.h"
#include "plan/placement.h"

namespace dlaunch::plan {

namespace {

constexpr long kMostRanks = 1'000'000;  // more ranks are a typing error and would exhaust the machine's memory

Error refused(std::string where, std::string what, std::string why = {}, std::string hint = {}) {
  return Error{.where = std::move(where), .what = std::move(what), .why = std::move(why), .hint = std::move(hint)};
}

/// The number of ranks of each app: -n, or the slots without a rank; with Hydra's placement, all slots.
Result<std::vector<int>> ranks_of_apps(const Request& request, long available) {
  long named = 0;
  for (const AppRequest& app : request.apps) named += app.ranks.value_or(0);
  std::vector<int> ranks;
  long total = 0;
  for (const AppRequest& app : request.apps) {
    const long mine = app.ranks ? *app.ranks : request.in_rounds ? available : available - named;
    if (mine < 1 && available == 0) {
      return fail(refused(escaped(app.argv.front()), "the hosts have 0 slots", {},
                          "add the number after the host name: -H node1:8, or slots=8 in a hostfile"));
    }
    if (mine < 1) {
      return fail(refused(escaped(app.argv.front()),
                          "not enough slots for a program without -n: the hosts have " + std::to_string(available) +
                              ", the other programs use " + std::to_string(named),
                          {}, "set -n for this program"));
    }
    total += mine;
    if (total > kMostRanks) return fail(refused({}, "more than " + std::to_string(kMostRanks) + " ranks"));
    ranks.push_back(static_cast<int>(mine));
  }
  return ranks;
}

long total_of(const std::vector<int>& numbers) { return std::accumulate(numbers.begin(), numbers.end(), 0L); }

bool unknown(const Host& host) { return host.slots_unknown && host.devices.empty(); }

std::optional<Error> refuse_unknown_slots(const Allocation& allocation) {
  const auto first = std::ranges::find_if(allocation.hosts, unknown);
  if (first == allocation.hosts.end()) return std::nullopt;
  const auto more = std::ranges::count_if(allocation.hosts, unknown) - 1;
  std::string why = escaped(first->name);
  if (more > 0) why += " and " + std::to_string(more) + " more";
  return refused(escaped(first->from), "missing number of slots", why,
                 "add slots=N after the host name, or start N ranks per host with -N");
}

std::vector<int> max_slots(const Allocation& allocation) {
  if (std::ranges::none_of(allocation.hosts, [](const Host& host) { return host.max_slots.has_value(); })) return {};
  std::vector<int> most;
  most.reserve(allocation.hosts.size());
  for (const Host& host : allocation.hosts) {
    most.push_back(host.max_slots.value_or(static_cast<int>(kMostRanks)));
  }
  return most;
}

/// The capacity of each host under -N. A host with 0 slots from the user gets no ranks.
std::vector<int> equal_capacities(const Allocation& allocation, int each) {
  std::vector<int> capacity;
  capacity.reserve(allocation.hosts.size());
  for (const Host& host : allocation.hosts) {
    const bool closed = allocation.slots_are_limits && !host.slots_unknown && host.slots == 0;
    capacity.push_back(closed ? 0 : each);
  }
  return capacity;
}

/// Counts the ranks of each host after the placement, and checks the counts against max_slots.
Result<Assignment> counted(Assignment made, const Allocation& allocation) {
  made.ranks_per_host.assign(allocation.hosts.size(), 0);
  for (const int host : made.host_of_rank) ++at_index(made.ranks_per_host, host);
  const long ranks = static_cast<long>(made.host_of_rank.size());
  if (auto error = refuse_over_max_slots(allocation, made.ranks_per_host, ranks)) return fail(std::move(*error));
  return made;
}

Result<Assignment> by_capacity(const Request& request, const Allocation& allocation) {
  const bool open = std::ranges::any_of(request.apps, [](const AppRequest& app) { return !app.ranks; });
  const bool devices = std::ranges::any_of(allocation.hosts, [](const Host& host) { return !host.devices.empty(); });
  const std::optional<int> each = request.ranks_per_host;
  if (!each) {
    if (auto error = refuse_unknown_slots(allocation)) return fail(std::move(*error));
  }
  const std::vector<int> capacity =
      each ? equal_capacities(allocation, *each) : capacities(allocation, open && devices);
  const long available = total_of(capacity);
  auto ranks = TRY(ranks_of_apps(request, available));
  const long total = total_of(ranks);
  const bool in_rounds = request.in_rounds && request.binding.map_by != MapBy::node && available > 0;
  if (each && total > available && !in_rounds) {
    return fail(refused({}, "more ranks than -N allows",
                        count(total, "rank") + " requested, " + std::to_string(available) + " allowed (" +
                            std::to_string(*each) + " per host on " + count(allocation.hosts.size(), "host") + ")",
                        "set a larger -N, add hosts, or start fewer ranks"));
  }
  Assignment made{.ranks_of_app = std::move(ranks), .host_of_rank = {}, .ranks_per_host = {}};
  if (in_rounds) {
    made.host_of_rank = hosts_in_rounds(capacity, static_cast<int>(total));
    return counted(std::move(made), allocation);
  }
  made.ranks_per_host =
      ranks_per_host(request.binding.map_by, capacity, static_cast<int>(total), max_slots(allocation));
  if (auto error = refuse_over_max_slots(allocation, made.ranks_per_host, total)) return fail(std::move(*error));
  BindingRequest numbering = request.binding;
  if (request.in_blocks) numbering.map_by = MapBy::slot;
  made.host_of_rank = hosts_of_ranks(numbering, made.ranks_per_host);
  return made;
}

Result<Assignment> by_sequence(const Request& request, const Allocation& allocation) {
  std::vector<int> hosts = allocation.sequence;
  if (hosts.empty()) {
    hosts.resize(allocation.hosts.size());
    std::iota(hosts.begin(), hosts.end(), 0);
  }
  auto ranks = TRY(ranks_of_apps(request, static_cast<long>(hosts.size())));
  const long total = total_of(ranks);
  if (total > static_cast<long>(hosts.size())) {
    return fail(refused("--map-by seq", "more ranks than entries in the host list",
                        count(total, "rank") + " requested, " +
                            (hosts.size() == 1 ? "1 entry" : std::to_string(hosts.size()) + " entries"),
                        "add a host for each rank, or remove --map-by seq"));
  }
  hosts.resize(static_cast<size_t>(total));
  return counted({.ranks_of_app = std::move(ranks), .host_of_rank = std::move(hosts), .ranks_per_host = {}},
                 allocation);
}

using HostIndex = std::unordered_map<std::string_view, int>;

/// This machine's names include localhost, with any name in the list or of the machine.
HostIndex index_of_names(const Allocation& allocation) {
  HostIndex index;
  for (size_t i = 0; i < allocation.hosts.size(); ++i) {
    index.try_emplace(allocation.hosts[i].name, static_cast<int>(i));
    for (const std::string& name : allocation.hosts[i].other_names) index.try_emplace(name, static_cast<int>(i));
    if (!allocation.hosts[i].local) continue;
    for (const char* name : {"localhost", "127.0.0.1", "::1"}) index.try_emplace(name, static_cast<int>(i));
  }
  return index;
}

Result<int> host_of(const RankPlace& place, const HostIndex& index, const Allocation& allocation) {
  const long hosts = static_cast<long>(allocation.hosts.size());
  if (place.host.starts_with("+n")) {
    if (const auto number = parse_int(std::string_view(place.host).substr(2), 0, hosts - 1)) {
      return static_cast<int>(*number);
    }
    return fail(refused(place.from, "unknown host \"" + escaped(place.host) + "\"",
                        "expected +n0 to +n" + std::to_string(hosts - 1)));
  }
  if (const auto found = index.find(place.host); found != index.end()) return found->second;
  return fail(refused(place.from, "unknown host \"" + escaped(place.host) + "\"", {},
                      "write the host as in the hostfile or -H"));
}

Result<Assignment> by_rankfile(const Request& request, const Allocation& allocation) {
  auto ranks = TRY(ranks_of_apps(request, static_cast<long>(request.rank_places.size())));
  const long total = total_of(ranks);
  std::vector<int> hosts(static_cast<size_t>(total), -1);
  const HostIndex index = index_of_names(allocation);
  for (const RankPlace& place : request.rank_places) {
    const std::string rank = "rank \"" + std::to_string(place.rank) + "\"";
    if (place.rank < 0 || place.rank >= total) {
      return fail(refused(place.from, "unknown " + rank, "the job has " + count(total, "rank"),
                          "remove the line, or start more ranks with -n"));
    }
    int& mine = at_index(hosts, place.rank);
    if (mine >= 0) return fail(refused(place.from, "duplicate " + rank));
    const auto host = TRY(host_of(place, index, allocation));
    mine = host;
  }
  if (const auto missing = std::ranges::find(hosts, -1); missing != hosts.end()) {
    return fail(refused("--rankfile", "missing rank " + std::to_string(missing - hosts.begin()), {},
                        "add a line for each rank"));
  }
  return counted({.ranks_of_app = std::move(ranks), .host_of_rank = std::move(hosts), .ranks_per_host = {}},
                 allocation);
}

}  // namespace

bool needs_slots(const Request& request, const Allocation& allocation) {
  const bool placed_otherwise = !request.rank_places.empty() || request.in_sequence || request.ranks_per_host;
  return !placed_otherwise && std::ranges::any_of(allocation.hosts, unknown);
}

Result<Assignment> assign(const Request& request, const Allocation& allocation) {
  if (!allocation.pools.empty()) return assign_in_pools(request, allocation);
  if (!request.rank_places.empty()) return by_rankfile(request, allocation);
  if (request.in_sequence) return by_sequence(request, allocation);
  return by_capacity(request, allocation);
}

namespace {

Request request_of(const Request& request, int pool) {
  Request own = request;
  std::erase_if(own.apps, [&](const AppRequest& app) { return app.pool != pool; });
  return own;
}

/// The hosts of the pool, with the slots of the pool's list.
Allocation allocation_of(const Allocation& allocation, const Pool& pool) {
  Allocation own{.hosts = {}, .slots_are_limits = allocation.slots_are_limits};
  std::vector<int> places(allocation.hosts.size(), -1);
  for (size_t i = 0; i < pool.hosts.size(); ++i) {
    const auto host = static_cast<size_t>(pool.hosts[i]);
    places[host] = static_cast<int>(i);
    own.hosts.push_back(allocation.hosts[host]);
    own.hosts.back().slots = pool.slots[i];
  }
  for (const int host : pool.sequence) own.sequence.push_back(at_index(places, host));
  return own;
}

tl::unexpected<Error> refused(const Request& request, int pool, std::string what, std::string hint) {
  const auto app = std::ranges::find(request.apps, pool, &AppRequest::pool);
  return fail({.where = escaped(app->argv.front()), .what = std::move(what), .why = {}, .hint = std::move(hint)});
}

/// The assignment of each pool; empty for a pool without programs.
Result<std::vector<Assignment>> assign_each(const Request& request, const Allocation& allocation) {
  std::vector<Assignment> made(allocation.pools.size());
  for (size_t i = 0; i < made.size(); ++i) {
    const int pool = static_cast<int>(i);
    const Request own = request_of(request, pool);
    if (own.apps.empty()) continue;
    if (allocation.pools[i].hosts.empty()) {
      return refused(request, pool, "the -H list of this program has no usable host", "add other hosts to this list");
    }
    auto assigned = TRY(assign(own, allocation_of(allocation, allocation.pools[i])));
    made[i] = std::move(assigned);
  }
  return made;
}

}  // namespace

Result<Assignment> assign_in_pools(const Request& request, const Allocation& allocation) {
  if (!request.rank_places.empty()) {
    return fail({.where = "",
                 .what = "--rankfile conflicts with -H of a single program",
                 .why = "both place the ranks",
                 .hint = "write all hosts before the first program"});
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
      ++at_index(whole.ranks_per_host, whole.host_of_rank.back());
    }
  }
  const auto ranks = static_cast<long>(whole.host_of_rank.size());
  if (auto error = refuse_over_max_slots(allocation, whole.ranks_per_host, ranks)) return fail(std::move(*error));
  return whole;
}

}  // namespace dlaunch::plan
