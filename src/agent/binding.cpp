#include "agent/binding.h"

#include <set>
#include <utility>

#include "agent/topology.h"
#include "base/text.h"
#include "base/try.h"
#include "dlaunch/host.h"
#include "machine/local.h"
#include "plan/slot_list.h"
#include "sys/inherited.h"

namespace dlaunch::agent {
namespace {

constexpr auto kLastKind = static_cast<std::uint8_t>(plan::DeviceKind::named);

std::string not_bound(std::set<int> devices, const std::string& why) {
  if (devices.erase(-1) > 0 && devices.empty()) return "ranks with unknown devices are not bound";
  return (devices.size() == 1 ? "the rank of device " + fold_ints(devices) + " is"
                              : "the ranks of devices " + fold_ints(devices) + " are") +
         " not bound: " + why;
}

/// Reads the topology only for a job with binding, because reading takes milliseconds.
Result<BoundRanks> bind_as_asked(const wire::Layout& layout) {
  plan::BindingRequest request;
  request.bind_to = static_cast<plan::BindTo>(layout.bind_to);
  request.map_by = static_cast<plan::MapBy>(layout.map_by);
  request.rank_by = static_cast<plan::RankBy>(layout.rank_by);
  request.cores_per_rank = static_cast<int>(layout.cores_per_rank);
  request.if_supported = layout.if_supported;
  if (request.bind_to == plan::BindTo::none || layout.local_ranks == 0) return {};
  const auto topology = TRY(read_topology());
  if (request.bind_to == plan::BindTo::device) return bind_near_devices(topology, layout);
  const auto ranks = static_cast<int>(layout.local_ranks);
  auto bound = TRY(plan::bind_ranks(topology, request, ranks, layout.oversubscribe));
  return BoundRanks{std::move(bound), {}};
}

}  // namespace

BoundRanks bind_near_devices(const plan::Topology& topology, const wire::Layout& layout, const std::string& root) {
  std::vector<int> devices;
  for (const std::uint32_t device : layout.devices) devices.push_back(static_cast<int>(device));  // kNoDevice is -1
  const auto kind =
      layout.device_kind > kLastKind ? plan::DeviceKind::none : static_cast<plan::DeviceKind>(layout.device_kind);
  const auto nodes = machine::device_nodes(root, kind, devices);
  BoundRanks near{.cpus = plan::bind_near(topology, nodes), .note = {}};
  std::set<int> unknown, closed;
  for (size_t i = 0; i < devices.size(); ++i) {
    if (near.cpus[i].empty()) (nodes[i] ? closed : unknown).insert(devices[i]);
  }
  if (!unknown.empty()) near.note = not_bound(unknown, "unknown NUMA node");
  if (!closed.empty()) {
    near.note +=
        (near.note.empty() ? "" : "; ") + not_bound(closed, "dlaunch is not allowed to use the CPUs of the NUMA node");
  }
  return near;
}

std::string RankBinding::configure(const wire::Layout& layout) {
  bound_ = bind_as_asked(layout);
  return bound_ ? std::exchange(bound_->note, {}) : std::string();
}

Result<std::vector<std::uint32_t>> RankBinding::cpus_of(const wire::Spawn& spawn) {
  if (!bound_) return fail(bound_.error());
  if (spawn.slots.empty()) {
    return spawn.local_rank < bound_->cpus.size() ? bound_->cpus[spawn.local_rank] : std::vector<std::uint32_t>{};
  }
  if (!whole_) whole_ = read_whole_topology();
  if (!*whole_) return fail(whole_->error());
  const auto allowed = sys::affinity_of(0).value_or(std::vector<std::uint32_t>{});
  return plan::cpus_of_slots(**whole_, {allowed.begin(), allowed.end()}, spawn.slots);
}

Result<std::vector<unsigned long>> RankBinding::affinity_of(const wire::Spawn& spawn) {
  constexpr std::uint32_t kBits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> words;
  const auto cpus = TRY(cpus_of(spawn));
  for (const std::uint32_t cpu : cpus) {
    if (words.size() <= cpu / kBits) words.resize(cpu / kBits + 1);
    words[cpu / kBits] |= 1ul << (cpu % kBits);
  }
  return words;
}

}  // namespace dlaunch::agent
