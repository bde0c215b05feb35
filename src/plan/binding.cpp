#include "plan/binding.h"

#include <algorithm>
#include <map>

#include "base/text.h"

namespace dlaunch::plan {
namespace {

using Place = size_t;  // index into Topology::pus
using Places = std::vector<Place>;

/// Takes one place of each group in turn, with the groups in the order of their first place.
Places deal_by_group(const Topology& topology, const Places& places, int Pu::* group) {
  std::vector<Places> groups;
  std::map<int, size_t> group_of_id;
  size_t longest = 0;
  for (const Place place : places) {
    const auto [at, is_new] = group_of_id.try_emplace(topology.pus[place].*group, groups.size());
    if (is_new) groups.emplace_back();
    groups[at->second].push_back(place);
    longest = std::max(longest, groups[at->second].size());
  }
  Places dealt;
  for (size_t turn = 0; turn < longest; ++turn) {
    for (const Places& members : groups) {
      if (turn < members.size()) dealt.push_back(members[turn]);
    }
  }
  return dealt;
}

Places all_pus(const Topology& topology) {
  Places places(topology.pus.size());
  for (Place i = 0; i < places.size(); ++i) places[i] = i;
  return places;
}

/// The first thread of each core.
Places cores(const Topology& topology) {
  std::map<int, Place> first_of_core;
  for (const Place place : all_pus(topology)) first_of_core.try_emplace(topology.pus[place].core, place);
  Places places;
  for (const auto& [core, place] : first_of_core) places.push_back(place);
  std::ranges::sort(places);
  return places;
}

/// Joins `size` consecutive places into bundles, within one group if `group` is given. The first place identifies a
/// bundle.
class Bundles {
 public:
  Bundles(const Topology& topology, const Places& places, size_t size, int Pu::* group) {
    std::map<int, Places> open;  // by group
    for (const Place place : places) {
      Places& bundle = open[group ? topology.pus[place].*group : 0];
      bundle.push_back(place);
      if (bundle.size() < size) continue;
      firsts_.push_back(bundle.front());
      members_.emplace(bundle.front(), std::move(bundle));
      bundle.clear();
    }
  }

  const Places& firsts() const { return firsts_; }
  const Places& members(Place first) const { return members_.at(first); }

 private:
  Places firsts_;
  std::map<Place, Places> members_;
};

Bundles bundles(const Topology& topology, const BindingRequest& request) {
  const bool threads = request.bind_to == BindTo::hwthread;
  const bool several = request.cores_per_rank > 1;
  int Pu::* group = nullptr;
  if (several && request.map_by == MapBy::socket) group = &Pu::socket;
  if (several && request.map_by == MapBy::numa) group = &Pu::numa;
  Places places = threads ? all_pus(topology) : cores(topology);
  if (threads && !several && request.map_by != MapBy::hwthread) places = deal_by_group(topology, places, &Pu::core);
  return {topology, places, static_cast<size_t>(std::max(request.cores_per_rank, 1)), group};
}

/// The places for ranks, in map_by's order. Single threads are places only if a rank may have a single thread.
Places mapped_places(const Topology& topology, const BindingRequest& request, Places places) {
  if (request.bind_to == BindTo::hwthread && request.map_by == MapBy::hwthread) return places;
  switch (request.map_by) {
    case MapBy::socket:
      return deal_by_group(topology, places, &Pu::socket);
    case MapBy::numa:
      return deal_by_group(topology, places, &Pu::numa);
    case MapBy::slot:
    case MapBy::core:
    case MapBy::hwthread:
    case MapBy::node:
      break;
  }
  return places;
}

Places numbered(const Topology& topology, RankBy rank_by, Places places) {
  if (rank_by == RankBy::core) std::ranges::stable_sort(places);
  if (rank_by == RankBy::socket) return deal_by_group(topology, places, &Pu::socket);
  return places;
}

std::vector<std::uint32_t> cpus_of(const Topology& topology, BindTo bind_to, const Places& places) {
  std::vector<std::uint32_t> cpus;
  for (const Pu& pu : topology.pus) {
    const bool in = std::ranges::any_of(places, [&](Place place) {
      const Pu& mine = topology.pus[place];
      return (bind_to == BindTo::hwthread && pu.os_index == mine.os_index) ||
             (bind_to == BindTo::core && pu.core == mine.core) ||
             (bind_to == BindTo::socket && pu.socket == mine.socket) ||
             (bind_to == BindTo::numa && pu.numa == mine.numa);
    });
    if (in) cpus.push_back(pu.os_index);
  }
  std::ranges::sort(cpus);
  return cpus;
}

Error too_few(const BindingRequest& request, int ranks, size_t available) {
  const std::string thing = request.bind_to == BindTo::core ? "core" : "hardware thread";
  const int each = request.cores_per_rank;
  Error error;
  error.what = "cannot bind each rank to " +
               (each > 1 ? std::to_string(each) + " separate " + thing + "s" : "a separate " + thing);
  error.why = count(ranks, "rank") + " requested, " + count(available, thing) + " available";
  error.hint = "add --oversubscribe to let ranks share " + thing + "s, or remove --bind-to";
  return error;
}

BindingRequest with_equal_share(const Topology& topology, BindingRequest request, size_t ranks) {
  if (request.cores_per_rank != kEqualShare) return request;
  const bool threads = request.bind_to == BindTo::hwthread;
  const size_t there = (threads ? all_pus(topology) : cores(topology)).size();
  request.cores_per_rank = static_cast<int>(std::max<size_t>(there / std::max<size_t>(ranks, 1), 1));
  return request;
}

/// The part of a host for mapping; nullptr if ranks are mapped by hosts.
std::optional<BindTo> unit_of(MapBy map_by) {
  switch (map_by) {
    case MapBy::core:
      return BindTo::core;
    case MapBy::hwthread:
      return BindTo::hwthread;
    case MapBy::socket:
      return BindTo::socket;
    case MapBy::numa:
      return BindTo::numa;
    case MapBy::slot:
    case MapBy::node:
      break;
  }
  return std::nullopt;
}

}  // namespace

std::string_view to_string(BindTo bind_to) {
  switch (bind_to) {
    case BindTo::none:
      return "none";
    case BindTo::core:
      return "core";
    case BindTo::hwthread:
      return "hwthread";
    case BindTo::socket:
      return "socket";
    case BindTo::numa:
      return "numa";
    case BindTo::device:
      return "device";
  }
  return "none";
}

std::string_view to_string(MapBy map_by) {
  switch (map_by) {
    case MapBy::slot:
      return "slot";
    case MapBy::core:
      return "core";
    case MapBy::hwthread:
      return "hwthread";
    case MapBy::socket:
      return "socket";
    case MapBy::numa:
      return "numa";
    case MapBy::node:
      return "node";
  }
  return "slot";
}

std::string_view to_string(RankBy rank_by) {
  switch (rank_by) {
    case RankBy::slot:
      return "slot";
    case RankBy::node:
      return "node";
    case RankBy::core:
      return "core";
    case RankBy::socket:
      return "socket";
  }
  return "slot";
}

BindingRequest bound_by_count(BindingRequest asked, size_t ranks, bool crowded, bool threads) {
  if (crowded || asked.bind_to != BindTo::none) return asked;
  asked.if_supported = true;
  if (const auto unit = unit_of(asked.map_by)) {
    asked.bind_to = *unit;
  } else if (ranks <= 2) {
    asked.bind_to = threads ? BindTo::hwthread : BindTo::core;
  } else {
    asked.bind_to = BindTo::numa;
    if (asked.map_by == MapBy::slot) asked.map_by = MapBy::numa;
  }
  return asked;
}

Result<std::vector<std::vector<std::uint32_t>>> bind_ranks(const Topology& topology, const BindingRequest& asked,
                                                           int local_ranks, bool oversubscribe) {
  const size_t ranks = static_cast<size_t>(std::max(local_ranks, 0));
  const BindingRequest request = with_equal_share(topology, asked, ranks);
  std::vector<std::vector<std::uint32_t>> masks(ranks);
  if (request.bind_to == BindTo::none) return masks;
  if (topology.pus.empty())
    return fail({.where = {}, .what = "cannot bind ranks", .why = "dlaunch is not allowed to use any CPU", .hint = {}});
  const Bundles units = bundles(topology, request);
  const Places there = mapped_places(topology, request, units.firsts());
  const bool own = request.bind_to == BindTo::core || request.bind_to == BindTo::hwthread;
  if (there.empty() || (own && !oversubscribe && ranks > there.size())) {
    if (request.if_supported) return masks;
    const bool threads = request.bind_to == BindTo::hwthread;
    return fail(too_few(request, local_ranks, (threads ? all_pus(topology) : cores(topology)).size()));
  }

  Places taken(ranks);
  for (size_t i = 0; i < ranks; ++i) taken[i] = there[i % there.size()];
  taken = numbered(topology, request.rank_by, std::move(taken));
  std::map<Place, std::vector<std::uint32_t>> known;
  for (size_t i = 0; i < ranks; ++i) {
    const auto [at, is_new] = known.try_emplace(taken[i]);
    if (is_new) at->second = cpus_of(topology, request.bind_to, units.members(taken[i]));
    masks[i] = at->second;
  }
  return masks;
}

std::vector<std::vector<std::uint32_t>> bind_near(const Topology& topology,
                                                  const std::vector<std::optional<int>>& nodes) {
  std::map<int, std::vector<std::uint32_t>> cpus;
  for (const Pu& pu : topology.pus) cpus[pu.numa].push_back(pu.os_index);
  for (auto& [node, list] : cpus) std::ranges::sort(list);
  std::vector<std::vector<std::uint32_t>> masks;
  for (const auto& node : nodes) {
    auto& mask = masks.emplace_back();
    if (const auto known = node ? cpus.find(*node) : cpus.end(); known != cpus.end()) mask = known->second;
  }
  return masks;
}

}  // namespace dlaunch::plan
