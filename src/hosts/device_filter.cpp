#include "hosts/device_filter.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/index_cast.h"
#include "base/text.h"
#include "base/try.h"
#include "hosts/host_name.h"

namespace dlaunch::hosts {
namespace {

constexpr int kLastDevice = 4095;

using Devices = std::vector<int>;

struct Choice {
  bool named = false;
  std::optional<Devices> devices;  ///< nullopt: the whole host
};

tl::unexpected<Error> wrong(std::string what, std::string hint) {
  return fail({.where = "", .what = std::move(what), .why = "", .hint = std::move(hint)});
}

tl::unexpected<Error> invalid_devices(std::string_view item, const char* expected) {
  return wrong("invalid list of devices \"" + std::string(item) + "\": expected " + expected, "");
}

Result<Devices> read_devices(std::string_view text, std::string_view item, const char* expected) {
  Devices devices;
  for (const std::string& part : split(text, ',')) {
    const auto numbers = parse_int_list(trim(part), kLastDevice);
    if (!numbers) return invalid_devices(item, expected);
    for (const int device : *numbers) {
      if (std::ranges::find(devices, device) != devices.end()) {
        return wrong("duplicate device \"" + std::to_string(device) + "\" in \"" + std::string(item) + '"', "");
      }
      devices.push_back(device);
    }
  }
  return devices;
}

Result<void> check_there(const plan::Host& host, const Devices& wanted) {
  for (const int device : wanted) {
    if (std::ranges::find(host.devices, device) != host.devices.end()) continue;
    return wrong("unknown device \"" + std::to_string(device) + "\" of " + host.name,
                 "use devices " + fold_ints({host.devices.begin(), host.devices.end()}));
  }
  return {};
}

/// Finds the hosts of an allocation by name.
class HostIndex {
 public:
  HostIndex(const plan::Allocation& allocation, const MeansHere& means_here) : means_here_(means_here) {
    for (size_t i = 0; i < allocation.hosts.size(); ++i) {
      const plan::Host& host = allocation.hosts[i];
      index_.try_emplace(host.name, i);
      known_.push_back(host.name);
      for (const std::string& other : host.other_names) index_.try_emplace(other, i);
      if (host.local && !here_) here_ = i;
    }
  }

  Result<size_t> find(const std::string& name) const {
    if (const auto found = index_.find(name); found != index_.end()) return found->second;
    if (here_ && means_here_(name)) return *here_;
    const auto near = nearest(name, known_);
    return wrong("unknown host \"" + name + '"', "use " + (near ? *near : fold_names(known_)));
  }

 private:
  const MeansHere& means_here_;
  std::unordered_map<std::string, size_t> index_;
  std::vector<std::string> known_;
  std::optional<size_t> here_;
};

/// Returns the choice for each host of the allocation.
Result<std::vector<Choice>> read_choices(const plan::Allocation& allocation, std::string_view text,
                                         const MeansHere& means_here) {
  const HostIndex index(allocation, means_here);
  std::vector<Choice> choices(allocation.hosts.size());
  for (const std::string& item : split(text, '@')) {
    const auto word = TRY(parse_host_word(trim(item)));
    std::optional<Devices> devices;
    if (word.has_count) {
      auto read = TRY(read_devices(word.count, item, "host1:0,2@host2"));
      devices = std::move(read);
    }
    for (const std::string& name : word.names) {
      const auto found = TRY(index.find(name));
      Choice& choice = choices[found];
      if (choice.named) return wrong("duplicate host \"" + name + '"', "write the devices with commas: host:0,2");
      choice = {.named = true, .devices = devices};
    }
  }
  return choices;
}

Result<void> include(plan::Host& host, const Devices& named, const char* option) {
  if (host.devices.empty()) {
    host.device_kind = plan::DeviceKind::named;
  } else if (auto ok = check_there(host, named); !ok) {
    return ok;
  }
  host.devices = named;
  host.devices_from = option;
  if (!host.slots_unknown) return {};
  host.slots = static_cast<int>(named.size());
  host.slots_from = option;
  host.slots_unknown = false;
  return {};
}

Result<void> apply(plan::Host& host, Filter filter, const Devices& named) {
  if (filter == Filter::include) return include(host, named, "--include");
  if (host.devices.empty()) {
    return wrong("missing devices of " + host.name, "add devices= to the host's line in the hostfile");
  }
  TRY(check_there(host, named));
  std::erase_if(host.devices, [&](int device) { return std::ranges::find(named, device) != named.end(); });
  host.devices_from += ", --exclude";
  return {};
}

/// `places` is the new index of each host, -1 for a removed host.
void keep_in_pool(plan::Pool& pool, const std::vector<int>& places) {
  plan::Pool kept;
  for (size_t i = 0; i < pool.hosts.size(); ++i) {
    const int place = places[static_cast<size_t>(pool.hosts[i])];
    if (place < 0) continue;
    kept.hosts.push_back(place);
    kept.slots.push_back(pool.slots[i]);
  }
  for (const int host : pool.sequence) {
    if (at_index(places, host) >= 0) kept.sequence.push_back(at_index(places, host));
  }
  pool = std::move(kept);
}

}  // namespace

Result<std::vector<int>> parse_devices(std::string_view text) {
  constexpr const char* kExpected = "[4,8), 4-7 or 0,2";
  text = trim(text);
  if (!text.starts_with('[')) return read_devices(text, text, kExpected);
  const size_t comma = text.find(',');
  if (comma != std::string_view::npos && text.ends_with(')')) {
    const auto first = parse_int(trim(text.substr(1, comma - 1)), 0, kLastDevice);
    const auto end = parse_int(trim(text.substr(comma + 1, text.size() - comma - 2)), 1, kLastDevice + 1);
    Devices devices;
    for (long device = first.value_or(0); first && end && device < *end; ++device) {
      devices.push_back(static_cast<int>(device));
    }
    if (!devices.empty()) return devices;
  }
  return invalid_devices(text, kExpected);
}

Result<void> use_devices(plan::Allocation& allocation, const std::vector<int>& devices) {
  for (plan::Host& host : allocation.hosts) {
    TRY(include(host, devices, "--devices"));
  }
  return {};
}

bool keep_only(plan::Allocation& allocation, const std::vector<bool>& keep) {
  std::vector<int> places(keep.size(), -1);
  std::vector<plan::Host> hosts;
  for (size_t i = 0; i < keep.size(); ++i) {
    if (!keep[i]) continue;
    places[i] = static_cast<int>(hosts.size());
    hosts.push_back(std::move(allocation.hosts[i]));
  }
  allocation.hosts = std::move(hosts);
  std::vector<int> sequence;
  for (const int host : allocation.sequence) {
    if (at_index(places, host) >= 0) sequence.push_back(at_index(places, host));
  }
  allocation.sequence = std::move(sequence);
  for (plan::Pool& pool : allocation.pools) keep_in_pool(pool, places);
  return !allocation.hosts.empty();
}

Result<void> filter_devices(plan::Allocation& allocation, Filter filter, std::string_view text,
                            const MeansHere& means_here) {
  const auto choices = TRY(read_choices(allocation, text, means_here));
  std::vector<bool> keep(choices.size(), filter == Filter::exclude);
  for (size_t i = 0; i < choices.size(); ++i) {
    const Choice& choice = (choices)[i];
    if (!choice.named) continue;
    if (!choice.devices) {
      keep[i] = filter == Filter::include;
      continue;
    }
    TRY(apply(allocation.hosts[i], filter, *choice.devices));
    keep[i] = !allocation.hosts[i].devices.empty();
  }
  if (!keep_only(allocation, keep))
    return wrong("no host is left", "remove hosts from --exclude, or add hosts to --include");
  return {};
}

}  // namespace dlaunch::hosts
