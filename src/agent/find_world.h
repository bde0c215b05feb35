// Finds the world of a rank among the worlds known to this host. PURE.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>

namespace dlaunch::agent {

/// `worlds` have `first` and `size`, and are sorted by `first`. Null for the sidecar.
template <class Worlds>
auto* find_world(Worlds& worlds, std::uint32_t rank) {
  const auto later = std::ranges::upper_bound(worlds, rank, {}, [](const auto& world) { return world.first; });
  auto* world = later == worlds.begin() ? nullptr : std::addressof(*std::prev(later));
  return world && rank - world->first < world->size ? world : nullptr;
}

}  // namespace dlaunch::agent
