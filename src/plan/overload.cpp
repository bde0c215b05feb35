#include "plan/overload.h"

#include <functional>
#include <numeric>

#include "base/printable.h"
#include "base/text.h"
#include "plan/table.h"

namespace dlaunch::plan {
namespace {

constexpr size_t kMostRows = 16;  // the message must stay short with a thousand hosts

int devices(const Host& host) { return static_cast<int>(host.devices.size()); }
bool crowds_devices(const Host& host, int ranks) { return devices(host) > 0 && ranks > devices(host); }
bool crowds_slots(const Host& host, int ranks) {
  return !host.slots_unknown && ranks > std::max(host.slots, host.cpus);
}

/// -N also places ranks on hosts without slots from the user; tasks of a resource manager may share devices.
bool lacks_devices(const Host& host, int ranks) {
  const bool shared = host.cpus > 0 && host.slots > devices(host);
  return crowds_devices(host, ranks) && !host.slots_unknown && !shared;
}

using Crowds = bool (*)(const Host&, int);

std::vector<size_t> crowded_hosts(const Allocation& allocation, const std::vector<int>& ranks, Crowds crowds) {
  std::vector<size_t> hosts;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (crowds(allocation.hosts[i], ranks[i])) hosts.push_back(i);
  }
  return hosts;
}

std::string table(const Allocation& allocation, const std::vector<size_t>& hosts, const std::vector<int>& ranks) {
  const std::string counted = allocation.slots_are_limits ? "slots" : "cpus";
  std::vector<std::vector<std::string>> rows = {
      {"host", counted, counted + " from", "devices", "devices from", "requested"}};
  for (const size_t i : hosts) {
    if (rows.size() > kMostRows) break;
    const Host& host = allocation.hosts[i];
    rows.push_back({escaped(host.name), host.slots_unknown ? "?" : std::to_string(host.slots), escaped(host.slots_from),
                    std::to_string(devices(host)), devices(host) > 0 ? escaped(host.devices_from) : "-",
                    count(ranks[i], "rank")});
  }
  std::string text("\n");
  text += aligned(rows, "  ");
  if (hosts.size() > kMostRows)
    text += "  … and " + count(static_cast<long>(hosts.size() - kMostRows), "more host") + "\n";
  text.pop_back();
  return text;
}

Error refusal(const Allocation& allocation, const std::vector<int>& ranks, Crowds crowds, std::string_view thing) {
  const auto requested = std::accumulate(ranks.begin(), ranks.end(), 0L);
  long available = 0;
  for (const Host& host : allocation.hosts) available += crowds == lacks_devices ? devices(host) : host.slots;
  Error error;
  error.what = "more ranks than " + std::string(thing) + "s" + (requested > available ? "" : " on a host");
  error.why = count(requested, "rank") + " requested, " + count(available, thing) + " available" +
              table(allocation, crowded_hosts(allocation, ranks, crowds), ranks);
  error.hint = "add --oversubscribe to let ranks share " + std::string(thing) + "s";
  return error;
}

/// "8 ranks on 2 CPUs (affinity mask)" for one host; for several hosts, the text of the first host and the number of
/// the others.
std::string describe(const std::vector<size_t>& hosts, const Allocation& allocation,
                     const std::function<std::string(size_t)>& one) {
  if (allocation.hosts.size() == 1) return one(0);
  std::string text = escaped(allocation.hosts[hosts.front()].name) + ": " + one(hosts.front());
  if (hosts.size() > 1) text += ", also on " + count(static_cast<long>(hosts.size()) - 1, "more host");
  return text;
}

}  // namespace

std::optional<Error> refuse_over_max_slots(const Allocation& allocation, const std::vector<int>& ranks_per_host,
                                           long ranks) {
  std::vector<std::vector<std::string>> rows = {{"host", "max_slots", "from", "requested"}};
  long placed = 0;
  for (size_t i = 0; i < ranks_per_host.size(); ++i) {
    placed += ranks_per_host[i];
    const Host& host = allocation.hosts[i];
    const bool over = host.max_slots && ranks_per_host[i] > *host.max_slots;
    if (over && rows.size() <= kMostRows) {
      rows.push_back(
          {escaped(host.name), std::to_string(*host.max_slots), escaped(host.from), count(ranks_per_host[i], "rank")});
    }
  }
  if (rows.size() == 1 && placed == ranks) return std::nullopt;
  Error error;
  error.what = "more ranks than max_slots allows";
  error.why = count(ranks, "rank") + " requested";
  if (placed < ranks) error.why += ", " + std::to_string(placed) + " placed";
  if (rows.size() > 1) error.why += "\n" + aligned(rows, "  ");
  if (error.why.ends_with('\n')) error.why.pop_back();
  error.hint = "start fewer ranks, add hosts, or set a larger max_slots";
  return error;
}

std::optional<Error> refuse_overload(const Allocation& allocation, const std::vector<int>& ranks_per_host) {
  if (!crowded_hosts(allocation, ranks_per_host, lacks_devices).empty()) {
    return refusal(allocation, ranks_per_host, lacks_devices, "device");
  }
  if (allocation.slots_are_limits && !crowded_hosts(allocation, ranks_per_host, crowds_slots).empty()) {
    return refusal(allocation, ranks_per_host, crowds_slots, "slot");
  }
  return std::nullopt;
}

bool any_crowded(const Allocation& allocation, const std::vector<int>& ranks_per_host) {
  return !crowded_hosts(allocation, ranks_per_host, crowds_slots).empty();
}

std::vector<std::string> overload_remarks(const Allocation& allocation, const std::vector<int>& ranks_per_host) {
  std::vector<std::string> remarks;
  const auto rank_count = [&](size_t i) { return count(ranks_per_host[i], "rank"); };
  if (const auto hosts = crowded_hosts(allocation, ranks_per_host, crowds_devices); !hosts.empty()) {
    remarks.push_back(
        describe(hosts, allocation,
                 [&](size_t i) { return rank_count(i) + " on " + count(devices(allocation.hosts[i]), "device"); }) +
        ": ranks share devices");
  }
  if (const auto hosts = crowded_hosts(allocation, ranks_per_host, crowds_slots);
      !hosts.empty() && !allocation.slots_are_limits) {
    remarks.push_back(describe(hosts, allocation,
                               [&](size_t i) {
                                 const Host& host = allocation.hosts[i];
                                 return rank_count(i) + " on " + count(host.slots, "CPU") + " (" +
                                        escaped(host.slots_from) + ")";
                               }) +
                      ": ranks share cores");
  }
  return remarks;
}

}  // namespace dlaunch::plan
