#include "plan/placement.h"
#include "base/index_cast.h"

#include <algorithm>
#include <numeric>

namespace dlaunch::plan {
namespace {

/// Places at most `ranks` ranks one by one on the hosts in turn, and returns their hosts. A host gets at most its
/// count.
std::vector<int> deal(std::vector<int> counts, int ranks) {
  std::vector<int> order;
  std::vector<size_t> open;
  for (size_t host = 0; host < counts.size(); ++host) {
    if (counts[host] > 0) open.push_back(host);
  }
  while (!open.empty()) {
    for (const size_t host : open) {
      if (static_cast<int>(order.size()) == ranks) return order;
      order.push_back(static_cast<int>(host));
      --counts[host];
    }
    std::erase_if(open, [&](size_t host) { return counts[host] == 0; });
  }
  return order;
}

/// Adds `extra` ranks in rounds: all hosts get an equal part, the first hosts the remainder; full hosts get no more.
void add_evenly(std::vector<int>& counts, const std::vector<int>& capacity, int extra, const std::vector<int>& most) {
  const bool all = std::ranges::all_of(capacity, [](int c) { return c == 0; });
  std::vector<size_t> takers;
  for (size_t host = 0; host < capacity.size(); ++host) {
    if (all || capacity[host] > 0) takers.push_back(host);
  }
  const auto available = [&](size_t host) { return most.empty() ? extra : std::max(0, most[host] - counts[host]); };
  while (extra > 0) {
    std::erase_if(takers, [&](size_t host) { return available(host) == 0; });
    if (takers.empty()) return;
    const int each = extra / static_cast<int>(takers.size());
    const size_t remainder = static_cast<size_t>(extra % static_cast<int>(takers.size()));
    for (size_t i = 0; i < takers.size(); ++i) {
      const int mine = std::min(available(takers[i]), each + (i < remainder ? 1 : 0));
      counts[takers[i]] += mine;
      extra -= mine;
    }
  }
}

}  // namespace

std::vector<int> capacities(const Allocation& allocation, bool only_devices) {
  std::vector<int> capacity;
  capacity.reserve(allocation.hosts.size());
  for (const Host& host : allocation.hosts) {
    const int devices = static_cast<int>(host.devices.size());
    const bool limited = allocation.slots_are_limits && !host.slots_unknown;
    int available = devices;
    if (devices == 0) {
      available = only_devices ? 0 : std::max(host.slots, 0);
    } else if (limited && host.cpus > 0) {
      available = std::max(host.slots, 0);  // from a resource manager, and its tasks may share devices
    } else if (limited) {
      available = std::clamp(host.slots, 0, devices);
    }
    capacity.push_back(std::min(available, host.max_slots.value_or(available)));
  }
  return capacity;
}

std::vector<int> ranks_per_host(MapBy map_by, const std::vector<int>& capacity, int ranks,
                                const std::vector<int>& most) {
  const long available = std::accumulate(capacity.begin(), capacity.end(), 0L);
  std::vector<int> counts(capacity.size(), 0);
  if (ranks >= available) {
    counts = capacity;
    if (ranks > available) add_evenly(counts, capacity, static_cast<int>(ranks - available), most);
  } else if (map_by == MapBy::node) {
    for (const int host : deal(capacity, ranks)) ++at_index(counts, host);
  } else {
    for (size_t host = 0; ranks > 0; ++host) {
      counts[host] = std::min(capacity[host], ranks);
      ranks -= counts[host];
    }
  }
  return counts;
}

std::vector<int> hosts_in_rounds(const std::vector<int>& capacity, int ranks) {
  std::vector<int> hosts;
  for (size_t host = 0; hosts.size() < static_cast<size_t>(ranks); host = (host + 1) % capacity.size()) {
    const size_t available = static_cast<size_t>(ranks) - hosts.size();
    hosts.insert(hosts.end(), std::min(available, static_cast<size_t>(capacity[host])), static_cast<int>(host));
  }
  return hosts;
}

std::vector<int> hosts_of_ranks(const BindingRequest& binding, const std::vector<int>& ranks_per_host) {
  if (binding.map_by == MapBy::node || binding.rank_by == RankBy::node) {
    return deal(ranks_per_host, std::accumulate(ranks_per_host.begin(), ranks_per_host.end(), 0));
  }
  std::vector<int> hosts;
  for (size_t host = 0; host < ranks_per_host.size(); ++host) {
    hosts.insert(hosts.end(), static_cast<size_t>(ranks_per_host[host]), static_cast<int>(host));
  }
  return hosts;
}

}  // namespace dlaunch::plan
