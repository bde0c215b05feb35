#include "dlaunch/worlds.h"

#include <algorithm>
#include <map>

#include "base/text.h"

namespace dlaunch {

int Worlds::begin(int first) {
  later_.push_back(first);
  return last();
}

Worlds::Place Worlds::place(int id) const {
  const auto next = std::ranges::upper_bound(later_, id);
  const int world = 1 + static_cast<int>(next - later_.begin());
  return {world, id - first(world)};
}

std::string Worlds::fold(const std::set<int>& ids) const {
  std::map<int, std::set<int>> by_world;
  for (const int id : ids) {
    const Place at = place(id);
    by_world[at.world].insert(at.rank);
  }
  std::string text;
  for (const auto& [world, ranks] : by_world) {
    for (const std::string& range : split(fold_ints(ranks), ',')) {
      if (!text.empty()) text += ',';
      text += (world == 1 ? "" : std::to_string(world) + '/') + range;
    }
  }
  return text;
}

std::string Worlds::rank_name(Place place) {
  return place.world == 1 ? std::to_string(place.rank) : std::to_string(place.world) + '/' + std::to_string(place.rank);
}

}  // namespace dlaunch
