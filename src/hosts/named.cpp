#include "hosts/named.h"

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "base/try.h"

namespace dlaunch::hosts {
namespace {

constexpr long kMostFakeHosts = 254;  // 127.0.0.1 to 127.0.0.254; each host has two processes of about 1 MB
constexpr const char* kFrom = "--fake-hosts";

}  // namespace

Result<std::vector<HostEntry>> parse_fake_hosts(std::string_view text) {
  const size_t cross = text.find('x');
  const auto hosts = parse_int(text.substr(0, cross), 1, kMostFakeHosts);
  const auto slots = cross == text.npos ? std::optional<long>(1) : parse_int(text.substr(cross + 1), 1, kMostSlots);
  if (!hosts || !slots) {
    return fail({.where = "",
                 .what = "invalid number of hosts \"" + std::string(text) + '"',
                 .why = "expected NxM such as 2x4, with 1 to " + std::to_string(kMostFakeHosts) + " hosts",
                 .hint = ""});
  }
  std::vector<HostEntry> entries;
  for (long number = 1; number <= *hosts; ++number) {
    HostEntry entry{.name = "fake" + std::to_string(number), .slots = static_cast<int>(*slots), .from = kFrom};
    entry.reach.address = "127.0.0." + std::to_string(number);
    entry.env = {std::string(kFakeHostVariable) + '=' + entry.name};
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::string fake_host_command() { return "env " + std::string(kFakeHostVariable) + "={host}"; }

namespace {

/// Builds an allocation from entries.
class Gatherer {
 public:
  using IsHere = std::function<bool(const std::string& name)>;
  Gatherer(Repeated repeated, const plan::Host& here, const IsHere& is_here)
      : repeated_(repeated), here_(here), is_here_(is_here) {
    allocation_.slots_are_limits = true;
  }

  Result<void> add(const HostEntry& entry) {
    const bool local = means_here(entry);
    const auto [at, is_new] = places_.try_emplace(key_of(entry, local), allocation_.hosts.size());
    allocation_.sequence.push_back(static_cast<int>(at->second));
    add_to_pool(entry, static_cast<int>(at->second));
    if (is_new) {
      add_host(entry, local);
      return {};
    }
    return add_again(entry, at->second);
  }

  Result<plan::Allocation> finish() {
    for (size_t i = 0; i < allocation_.hosts.size(); ++i) settle_slots(allocation_.hosts[i], lines_[i]);
    for (const plan::Host& host : allocation_.hosts) {
      if (!host.max_slots || host.slots <= *host.max_slots) continue;
      return fail({.where = host.from,
                   .what = "invalid number of slots \"" + std::to_string(host.slots) + "\" of " + host.name +
                           ": expected at most max_slots=" + std::to_string(*host.max_slots),
                   .why = "",
                   .hint = "set a larger max_slots, or fewer slots"});
    }
    settle_pools();
    return std::move(allocation_);
  }

 private:
  struct PoolLines {
    plan::Pool pool;
    std::unordered_map<int, size_t> places;  // index in `pool` of each host
    std::vector<bool> automatic;             // by host
  };

  struct Lines {
    int count = 0;
    bool named_slots = false;
    bool automatic = false;
  };

  bool means_here(const HostEntry& entry) {
    const plan::Reach& reach = entry.reach;
    if (!reach.user.empty() || reach.port || !reach.jump.empty() || reach.node) return false;
    const auto [at, is_new] = known_.try_emplace(entry.name, false);
    if (is_new) at->second = is_here_(entry.name);
    return at->second;
  }

  static std::string key_of(const HostEntry& entry, bool local) {
    if (local) return "";
    return entry.name + '\n' + entry.reach.user + '\n' + std::to_string(entry.reach.port.value_or(0)) + '\n' +
           entry.reach.jump + '\n' + std::to_string(entry.reach.node.value_or(0));
  }

  void add_host(const HostEntry& entry, bool local) {
    plan::Host host;
    host.name = entry.name;
    host.from = entry.from;
    host.local = local;
    host.reach = entry.reach;
    host.slots = entry.slots.value_or(0);
    host.slots_from = entry.from;
    host.cpus = entry.cpus;
    host.max_slots = entry.max_slots;
    host.replacement = entry.replacement;
    host.wdir = entry.wdir;
    host.env = entry.env;
    if (local) {
      host.device_kind = here_.device_kind;
      host.devices = here_.devices;
      host.seen = here_.seen;
      host.uuids = here_.uuids;
      host.devices_from = here_.devices_from;
    }
    if (entry.devices) {
      if (!local || host.device_kind == plan::DeviceKind::none) host.device_kind = plan::DeviceKind::named;
      host.devices = *entry.devices;
      host.uuids.clear();
      host.devices_from = entry.from;
    }
    if (host.devices.empty()) host.device_kind = plan::DeviceKind::none;
    allocation_.hosts.push_back(std::move(host));
    lines_.push_back({.count = 1, .named_slots = entry.slots.has_value(), .automatic = entry.slots_automatic});
  }

  Result<void> add_again(const HostEntry& entry, size_t place) {
    plan::Host& host = allocation_.hosts[place];
    Lines& lines = lines_[place];
    const auto refuse = [&](const std::string& what, std::string hint) {
      return fail({.where = entry.from,
                   .what = "duplicate host \"" + entry.name + "\"" + what,
                   .why = host.name == entry.name ? "first entry in " + host.from
                                                  : "same host as " + host.name + " in " + host.from,
                   .hint = std::move(hint)});
    };
    if (repeated_ == Repeated::one_slot_each && (lines.named_slots || entry.slots)) {
      return refuse(" with slots", "write the host once, with all its slots");
    }
    const bool has_settings = entry.devices || !entry.env.empty() || !entry.wdir.empty() || entry.max_slots ||
                              entry.replacement || host.replacement || !entry.reach.identity.empty() ||
                              !entry.reach.agent.empty();
    if (has_settings) return refuse(" with settings", "write the settings into the first entry");
    if (host.name != entry.name && std::ranges::find(host.other_names, entry.name) == host.other_names.end()) {
      host.other_names.push_back(entry.name);
    }
    ++lines.count;
    lines.named_slots = lines.named_slots || entry.slots.has_value();
    lines.automatic = lines.automatic || entry.slots_automatic;
    host.slots = std::min(host.slots + entry.slots.value_or(0), kMostSlots);
    return {};
  }

  void add_to_pool(const HostEntry& entry, int host) {
    const auto index = static_cast<size_t>(entry.pool);
    if (pools_.size() <= index) pools_.resize(index + 1);
    PoolLines& pool = pools_[index];
    const auto [at, is_new] = pool.places.try_emplace(host, pool.pool.hosts.size());
    if (is_new) {
      pool.pool.hosts.push_back(host);
      pool.pool.slots.push_back(0);
      pool.automatic.push_back(false);
    }
    int& slots = pool.pool.slots[at->second];
    slots = std::min(slots + entry.slots.value_or(0), kMostSlots);
    if (!entry.slots) pool.automatic[at->second] = true;
    pool.pool.sequence.push_back(host);
  }

  /// If a pool's list has an entry without slots for a host, the pool gets the slots of this host in the allocation.
  void settle_pools() {
    if (pools_.size() < 2) return;
    for (PoolLines& pool : pools_) {
      for (size_t i = 0; i < pool.automatic.size(); ++i) {
        if (pool.automatic[i]) pool.pool.slots[i] = allocation_.hosts[static_cast<size_t>(pool.pool.hosts[i])].slots;
      }
      allocation_.pools.push_back(std::move(pool.pool));
    }
  }

  void settle_slots(plan::Host& host, const Lines& lines) const {
    if (lines.named_slots && !lines.automatic) return;
    if (repeated_ == Repeated::one_slot_each && lines.count > 1) {
      host.slots = lines.count;
    } else if (!host.devices.empty()) {
      host.slots = static_cast<int>(host.devices.size());
      host.slots_from = host.devices_from;
    } else if (host.local) {
      host.slots = here_.slots;
      host.slots_from = here_.slots_from;
    } else {
      host.slots = 0;
      host.slots_unknown = true;
    }
  }

  Repeated repeated_;
  const plan::Host& here_;
  const IsHere& is_here_;
  plan::Allocation allocation_;
  std::vector<Lines> lines_;  // by host
  std::vector<PoolLines> pools_;
  std::unordered_map<std::string, size_t> places_;
  std::unordered_map<std::string, bool> known_;
};

}  // namespace

Result<plan::Allocation> allocation_of(const Named& named, const plan::Host& here,
                                       const std::function<bool(const std::string& name)>& is_here) {
  Gatherer gatherer(named.repeated, here, is_here);
  for (const bool last : {false, true}) {  // the planner takes spare hosts from the end
    for (const HostEntry& entry : named.entries) {
      if (entry.replacement != last) continue;
      TRY(gatherer.add(entry));
    }
  }
  return gatherer.finish();
}

}  // namespace dlaunch::hosts
